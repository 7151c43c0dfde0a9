// Browser test of the web page: a real fabricd, a simulated fleet of 1,024 nodes, Chromium. Each page
// at three widths, in light and dark: no error, no violation of WCAG 2 A and AA, no sideways scrolling.
//
//   node browser.mjs FABRICD OUTPUT [ONLY_PAGE]
//
// Exit 77: chromium is missing.
import fs from "node:fs";
import path from "node:path";
import puppeteer from "puppeteer-core";
import { openWorld } from "./world.mjs";
import { checkBehaviour, checkLostConnection } from "./behaviour.mjs";
import { measureHeatMap } from "./heatmap_speed.mjs";
import { WIDTHS, pagesOf } from "./pages.mjs";

const [fabricd, output, only = ""] = process.argv.slice(2);
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(
  (one) => fs.existsSync(one),
);
if (!CHROMIUM) {
  console.log("SKIPPED: chromium is missing");
  process.exit(77);
}
const AXE = fs.readFileSync(
  new URL("../node_modules/axe-core/axe.min.js", import.meta.url),
  "utf8",
);

const failures = [];
const fail = (where, what) => {
  failures.push(`${where}: ${what}`);
  console.log(`FAILED ${where}: ${what}`);
};

async function openPage(browser, where) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  page.on("pageerror", (error) => fail(where, `page error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" && !page.expectErrors)
      fail(where, `console: ${message.text()} ${message.location().url ?? ""}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(page.origin ?? "http://127.0.0.1"))
      fail(where, `request to another site: ${request.url()}`);
  });
  return { context, page };
}

async function checkAxe(page, where) {
  // By the debugger, so that the page's Content-Security-Policy stays in force.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run(document, {
      runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] },
    }),
  );
  for (const { id, help, nodes } of violations)
    fail(
      where,
      `axe ${id}: ${help}: ${nodes
        .slice(0, 3)
        .map((node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ""}`)
        .join(" | ")}`,
    );
}

async function visit(page, world, [name, hash, text], width, scheme) {
  const where = `${name} at ${width}, ${scheme}`;
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.setViewport({ width, height: width < 500 ? 800 : 900 });
  await page.goto(`${world.rest}/${hash}`);
  try {
    await page.waitForFunction(
      (wanted) =>
        document.querySelector("main")?.innerText.toLowerCase().includes(wanted) &&
        document.querySelector(".live") !== null,
      { timeout: 20000 },
      text.toLowerCase(),
    );
  } catch {
    fail(
      where,
      `does not show "${text}": ${(await page.evaluate(() => document.body.innerText)).slice(0, 300)}`,
    );
  }
  await page
    .waitForNetworkIdle({ idleTime: 150, concurrency: 1, timeout: 5000 })
    .catch(() => undefined);
  const wide = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  if (wide > 0) fail(where, `scrolls sideways by ${wide} pixels`);
  // Hidden text (.sr) is absolute: only a positioned box that scrolls clips it, whatever its cells show.
  const open = await page.evaluate(
    () =>
      [...document.querySelectorAll("main .scroll")].filter(
        (box) => globalThis.getComputedStyle(box).position === "static",
      ).length,
  );
  if (open > 0) fail(where, `${open} scrolling boxes do not clip hidden text`);
  await checkAxe(page, where);
  await page.screenshot({
    path: path.join(output, `${name}-${width}${scheme === "dark" ? "-dark" : ""}.png`),
  });
}

fs.mkdirSync(output, { recursive: true });
const world = await openWorld(fabricd, output);
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
  for (const row of pagesOf(world).filter(([name]) => only === "" || name === only)) {
    const { context, page } = await openPage(browser, row[0]);
    for (const width of WIDTHS) await visit(page, world, row, width, "light");
    for (const width of WIDTHS) await visit(page, world, row, width, "dark");
    await context.close();
  }
  if (only === "") {
    await checkBehaviour(world, () => openPage(browser, "behaviour"), fail);
    console.log(await measureHeatMap(world, () => openPage(browser, "speed"), fail, output));
    await checkLostConnection(world, () => openPage(browser, "lost connection"), fail);
  }
} finally {
  await browser.close();
  await world.close();
}
console.log(failures.length === 0 ? "all pages passed" : `${failures.length} failures`);
process.exit(failures.length === 0 ? 0 : 1);
