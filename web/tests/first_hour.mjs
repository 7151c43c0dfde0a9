// A new user's first hour in the browser, from a running controller to a mended fault and a certified
// job: overview, finding, acknowledgement, repair, certificate.
//
//   node first_hour.mjs FABRICD OUTPUT
//
// Exit 77: chromium is missing. OUTPUT gets a picture of each step.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import puppeteer from "puppeteer-core";
import { startFleet } from "./fleet.mjs";
import { call, startFabricd, until } from "./world.mjs";

const [fabricd, output] = process.argv.slice(2);
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(
  (one) => fs.existsSync(one),
);
if (!CHROMIUM) {
  console.log("SKIPPED: chromium is missing");
  process.exit(77);
}
const NODES = 20;
const BROKEN = "gpu-0017"; // Its second rail has another MTU: snapshot.mjs
const JOB = ["gpu-0001", "gpu-0002", "gpu-0003", BROKEN];

async function waitText(page, text) {
  await page.waitForFunction(
    (wanted) => document.querySelector("main").innerText.includes(wanted),
    { timeout: 60000 },
    text,
  );
}
async function press(page, label) {
  await page.evaluate(
    (wanted) =>
      [...document.querySelectorAll("button")].find((one) => one.innerText === wanted).click(),
    label,
  );
}
let step = 0;
async function picture(page, name) {
  step += 1;
  await page.screenshot({ path: path.join(output, `${step}-${name}.png`) });
  console.log(`${step}. ${name}`);
}

async function firstHour(page, rest, fleet) {
  await page.goto(`${rest}/`);
  await waitText(page, BROKEN);
  await picture(page, "overview-names-the-node");

  const { findings } = await call(rest, `/v1/findings?node=${BROKEN}`);
  const found = findings.filter((one) => one.rule.includes("mtu"));
  if (found.length === 0) throw new Error(`no MTU finding, saw ${JSON.stringify(findings)}`);
  await page.goto(`${rest}/#/nodes/${BROKEN}`);
  await waitText(page, found[0].rule);
  await page.evaluate(
    (id) => document.querySelector(`a[href*="/findings/${id}"]`).click(),
    found[0].id,
  );
  await waitText(page, "How to fix it");
  await page.waitForSelector('input[name=note][placeholder="reason or ticket"]');
  await picture(page, "finding-shows-the-fix");

  await page.type("input[name=note]", "OPS-7");
  await press(page, "Acknowledge");
  await waitText(page, "OPS-7");
  await picture(page, "acknowledged");

  fleet.mend(BROKEN);
  await waitText(page, "resolved");
  await picture(page, "resolved-after-the-repair");
  const left = await call(rest, `/v1/findings?node=${BROKEN}`);
  if ((left.findings ?? []).some((one) => one.verdict === "VERDICT_FAIL"))
    throw new Error(`${BROKEN} still has findings`);

  await page.goto(`${rest}/#/certificates`);
  await page.waitForSelector("textarea[name=nodes]");
  await page.type("textarea[name=nodes]", JOB.join(", "));
  await page.evaluate(() => document.querySelector("form.form button").click());
  const done = await until(
    "the certificate",
    async () => {
      const { certificates } = await call(rest, "/v1/certificates");
      return certificates?.find((one) => one.state === "CERTIFICATE_STATE_DONE");
    },
    120000,
  );
  if (done.verdict !== "VERDICT_PASS")
    throw new Error(`expected PASS, saw ${JSON.stringify(done).slice(0, 2000)}`);
  await page.goto(`${rest}/#/certificates/${done.id}`);
  await waitText(page, "PASS");
  await picture(page, "certified");
}

fs.mkdirSync(output, { recursive: true });
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "first-hour-"));
const controller = await startFabricd(fabricd, folder);
const rest = `http://${controller.addresses.rest}`;
const browser = await puppeteer.launch({
  executablePath: CHROMIUM,
  headless: true,
  args: [
    ...(process.getuid() === 0 ? ["--no-sandbox"] : []),
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
  ],
});
let failed = false;
const page = await browser.newPage();
try {
  const fleet = await startFleet(controller.addresses.grpc, NODES, 2);
  await until(
    "the fleet is connected",
    async () => (await call(rest, "/v1/nodes?page_size=1")).total_size === NODES,
  );
  page.on("pageerror", (error) => {
    failed = true;
    console.log(`FAILED page error: ${error.message}`);
  });
  await page.setViewport({ width: 1280, height: 900 });
  await firstHour(page, rest, fleet);
  console.log("first hour passed");
} catch (error) {
  failed = true;
  const text = await page.evaluate(() => document.body.innerText).catch(() => "");
  console.log(`FAILED ${error.message}\n${text.slice(0, 800)}`);
} finally {
  await browser.close();
  await controller.stop();
  fs.rmSync(folder, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);
