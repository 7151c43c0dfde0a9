// Pictures of the documentation: pages of the web page and screens of fabricctl at three widths, over
// a real fabricd and a simulated fleet of 1,024 nodes.
//
//   node pictures.mjs BIN [OUTPUT]
//
// BIN: folder with fabricd and fabricctl. OUTPUT: default docs/images. Exit 77: chromium is missing.
import { execFile } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import puppeteer from "puppeteer-core";
import { fileURLToPath } from "node:url";
import { ansiPage, linesOf } from "./ansi.mjs";
import { indexedPng } from "./indexed_png.mjs";
import { WIDTHS, pagesOf } from "./pages.mjs";
import { openWorld } from "./world.mjs";

const BYTES_MAX = 100_000;
const HEIGHTS = { 360: 640, 768: 800, 1280: 800 };
// Pages of which another picture shows the same
const OMITTED = ["findings-unknown", "matrix-blame", "topology-leaf", "topology-files", "identity"];
const COLUMNS = { 80: 740, 110: 1000, 160: 1440 }; // Pixels
const COLUMNS_OF_NAME = 110; // Without a number in the name of its file
const ROWS_MAX = 34; // Longer output ends with "..."

const [bin, output = fileURLToPath(new URL("../../docs/images", import.meta.url))] =
  process.argv.slice(2);
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(
  (one) => fs.existsSync(one),
);
if (!CHROMIUM) {
  console.log("SKIPPED: chromium is missing");
  process.exit(77);
}

const screensOf = ({ campaign }) => [
  ["cli-status", "status"],
  ["cli-findings", "findings --severity error"],
  ["cli-matrix", `matrix ${campaign} --heat`],
  ["cli-top", "top gpu-[0001-0016] --limit 16 --interval 6s"],
  ["cli-diagnose", "diagnose gpu-0042"],
  ["cli-topology", "topology"],
  ["cli-topology-tree", "topology --as tree --filter rail=2"],
];

// Colours need a terminal: script(1) gives one.
function screen(controller, words, columns) {
  const program = path.join(bin, "fabricctl");
  const command = `stty cols ${columns}; exec ${program} --controller ${controller} ${words}`;
  return new Promise((resolve) =>
    execFile(
      "script",
      ["--quiet", "--return", "--command", command, "/dev/null"],
      {
        env: { ...process.env, NO_COLOR: "", COLUMNS: String(columns), LANG: "C.UTF-8", LC_ALL: "", TERM: "xterm" },
        maxBuffer: 1 << 26,
      },
      (_, text) => resolve(text),
    ),
  );
}

// Writes the picture of a page or an element with few colours.
async function save(name, page, element) {
  const picture = await element.screenshot({ encoding: "base64" });
  const { width, height, pixels } = await page.evaluate(async (base64) => {
    const image = await createImageBitmap(
      new Blob([Uint8Array.from(atob(base64), (one) => one.charCodeAt(0))], { type: "image/png" }),
    );
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    let text = "";
    for (let at = 0; at < data.length; at += 30000)
      text += String.fromCharCode(...data.subarray(at, at + 30000));
    return { width: image.width, height: image.height, pixels: btoa(text) };
  }, picture);
  const png = indexedPng(width, height, Buffer.from(pixels, "base64"));
  console.log(`${name}.png ${width} x ${height}, ${png.length} bytes`);
  if (png.length > BYTES_MAX)
    throw new Error(`${name}.png: expected at most ${BYTES_MAX} bytes, saw ${png.length}`);
  fs.writeFileSync(path.join(output, `${name}.png`), png);
}

const LARGEST = Math.max(...WIDTHS);

async function capturePage(page, world, [name, hash, text]) {
  for (const width of WIDTHS) {
    await page.setViewport({ width, height: HEIGHTS[width] });
    await page.goto(`${world.rest}/${hash}`);
    await page.waitForFunction(
      (wanted) => document.querySelector("main")?.innerText.toLowerCase().includes(wanted),
      { timeout: 30000 },
      text.toLowerCase(),
    );
    await page
      .waitForNetworkIdle({ idleTime: 300, concurrency: 1, timeout: 10000 })
      .catch(() => undefined);
    await save(width === LARGEST ? name : `${name}-${width}`, page, page);
  }
}

async function captureScreen(page, controller, [name, words]) {
  for (const [columns, width] of Object.entries(COLUMNS)) {
    const lines = linesOf(await screen(controller, words, columns));
    const shown = lines.length > ROWS_MAX ? [...lines.slice(0, ROWS_MAX), "..."] : lines;
    await page.setContent(ansiPage([`$ fabricctl ${words}`, ...shown].join("\n"), Number(columns)));
    await page.setViewport({ width, height: 400 });
    const suffix = Number(columns) === COLUMNS_OF_NAME ? "" : `-${columns}`;
    await save(`${name}${suffix}`, page, await page.$("pre"));
  }
}

fs.mkdirSync(output, { recursive: true });
const logs = fs.mkdtempSync(path.join(os.tmpdir(), "pictures-"));
const world = await openWorld(path.join(bin, "fabricd"), logs);
const browser = await puppeteer.launch({
  executablePath: CHROMIUM,
  headless: true,
  args: [
    ...(process.getuid() === 0 ? ["--no-sandbox"] : []),
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
  ],
});
try {
  const page = await browser.newPage();
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  for (const row of pagesOf(world).filter(([name]) => !OMITTED.includes(name)))
    await capturePage(page, world, row);
  // On a page of their own: the policy of fabricd's pages permits no styles in the document.
  const terminal = await browser.newPage();
  for (const row of screensOf(world)) await captureScreen(terminal, world.grpc, row);
} finally {
  await browser.close();
  await world.close();
  fs.rmSync(logs, { recursive: true });
}
