// What a person does on the page: acknowledge, silence, live updates, keyboard, token, lost connection.
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { call, until } from "./world.mjs";

const textOf = (page) => page.evaluate(() => document.body.innerText);
async function waitText(page, text, limitMs = 20000) {
  await page.waitForFunction(
    (wanted) => document.body.innerText.includes(wanted),
    { timeout: limitMs },
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

async function acknowledgeAndSilence(page, world) {
  await page.goto(`${world.rest}/#/findings/${world.finding}`);
  await waitText(page, "How to fix it");
  await page.type("input[name=note]", "replacing the cable");
  await press(page, "Acknowledge");
  await waitText(page, "acknowledged by loopback");
  await page.$eval("input[name=for]", (input) => (input.value = "soon"));
  await page.type("input[name=reason]", "test");
  await press(page, "Silence");
  await waitText(page, 'expected a number and s, min, h or d, saw "soon"');
  await page.$eval("input[name=for]", (input) => (input.value = "2h"));
  await press(page, "Silence");
  await waitText(page, "Silenced until");
  const { finding } = await call(world.rest, `/v1/findings/${world.finding}`);
  if (finding.acknowledged?.note !== "replacing the cable" || finding.silenced?.reason !== "test")
    throw new Error(`the API does not have it: ${JSON.stringify(finding.acknowledged)}`);
  await press(page, "End the silence");
  await until(
    "the silence ends",
    async () => !(await call(world.rest, `/v1/findings/${world.finding}`)).finding.silenced,
  );
}

async function silenceARuleFromTheForm(page, world) {
  await page.goto(`${world.rest}/#/silences`);
  await waitText(page, "firmware update");
  await page.waitForSelector("input[name=rule]");
  await page.type("input[name=reason]", "known");
  await press(page, "Add silence");
  await waitText(page, "expected a node or a rule, saw neither");
  await page.type("input[name=rule]", "peermem_loaded");
  await page.type("input[name=node]", "gpu-0200");
  await press(page, "Add silence");
  const of = (one) => one.node === "gpu-0200" && one.rule === "peermem_loaded";
  const active = async () => (await call(world.rest, "/v1/silences")).silences.find(of);
  const { id } = await until("the silence starts", active);
  await page.waitForFunction(
    (wanted) => [...document.querySelectorAll("tr")].some((row) => row.innerText.includes(wanted)),
    {},
    "peermem_loaded",
  );
  await page.evaluate((wanted) => {
    const row = [...document.querySelectorAll("tr")].find((one) => one.innerText.includes(wanted));
    row.querySelector("button").click();
  }, id);
  await until("the silence ends", async () => !(await active()));
}

async function addAndDeleteASchedule(page, world) {
  await page.goto(`${world.rest}/#/schedules`);
  await page.waitForSelector("input[name=cron]");
  page.expectErrors = true; // Chromium logs the 400.
  await page.type("input[name=cron]", "99 * * * *");
  await press(page, "Add schedule");
  await page.waitForSelector("form [role=alert]");
  page.expectErrors = false;
  await page.$eval("input[name=cron]", (input) => (input.value = ""));
  await page.type("input[name=cron]", "15 4 * * 6");
  await page.select("select[name=preset]", "STANDARD");
  await press(page, "Add schedule");
  await page.waitForFunction(() => /^#\/schedules\/s\d+$/.test(location.hash));
  await waitText(page, "preset standard");
  const { schedules } = await call(world.rest, "/v1/schedules");
  const added = schedules.find((one) => one.cron === "15 4 * * 6");
  if (added?.spec.preset !== "CAMPAIGN_PRESET_STANDARD") throw new Error(JSON.stringify(schedules));
  await press(page, "Delete the schedule");
  await page.waitForFunction(() => location.hash === "#/schedules");
  await until(
    "the schedule is deleted",
    async () => (await call(world.rest, "/v1/schedules")).schedules.length === schedules.length - 1,
  );
}

async function liveUpdate(page, world) {
  await page.goto(`${world.rest}/#/`);
  await waitText(page, "What changed lately");
  if ((await textOf(page)).includes("gpu-0700"))
    throw new Error("gpu-0700 is on the page before it is lost");
  world.fleet.lose(700);
  await waitText(page, "gpu-0700", 30000);
}

async function keyboardOnHeatMap(page, world) {
  await page.goto(`${world.rest}/#/campaigns/${world.campaign}/matrix`);
  await page.waitForSelector("canvas");
  await page.focus("canvas");
  for (const key of ["ArrowRight", "ArrowRight", "+", "ArrowDown"]) await page.keyboard.press(key);
  await page.waitForFunction(() =>
    / to gpu-\d+\/mlx5_0\/1 /.test(document.querySelector("#heatmap-cell").innerText),
  );
}

async function startFromTheForm(page, world) {
  await page.goto(`${world.rest}/#/campaigns`);
  await page.waitForSelector("textarea[name=nodes]");
  page.expectErrors = true; // Chromium logs the 404.
  await page.type("textarea[name=nodes]", "gpu-0001, gpu-9999");
  await press(page, "Start campaign");
  await waitText(page, "unknown node 'gpu-9999'");
  page.expectErrors = false;
  await page.$eval("textarea[name=nodes]", (area) => (area.value = ""));
  await page.type("textarea[name=nodes]", "gpu-0002, gpu-0004, gpu-0006");
  await page.type("input[name=rails]", "1");
  await page.click("form details summary");
  await page.type("input[name=dscp]", "24");
  await press(page, "Start campaign");
  await page.waitForFunction(() => /^#\/campaigns\/c\d+$/.test(location.hash));
  await waitText(page, "Fault location");
  const id = await page.evaluate(() => location.hash.split("/").pop());
  const { spec } = await call(world.rest, `/v1/campaigns/${id}`);
  if (spec.class_choice?.traffic_class !== 98) throw new Error(JSON.stringify(spec));
}

async function readTheAuditLog(page, world) {
  await page.goto(`${world.rest}/#/silences`);
  await page.waitForSelector("input[name=rule]");
  await page.click("nav a[href='#/audit']");
  await waitText(page, "CreateSilence");
  await press(page, "Reload"); // Each reading is an entry.
  await waitText(page, "ListAuditEntries");
  await page.type("input[type=search]", 'method="StartCertificate"');
  await page.waitForFunction(() => !document.querySelector("main").innerText.includes("CreateSilence"));
  await waitText(page, "StartCertificate");
  await page.select("main select", "denied");
  await waitText(page, "No entry matches.");
  await press(page, "Check the chain of hashes");
  await waitText(page, "is intact");
}

async function tokens(page, world) {
  const folder = path.join(world.restartable.folder, "tokens");
  fs.mkdirSync(folder);
  const secret = crypto.randomBytes(16).toString("hex");
  const sha256 = crypto.createHash("sha256").update(secret).digest("hex");
  const file = path.join(folder, "tokens.yaml");
  fs.writeFileSync(
    file,
    `- {name: "reader", sha256: "${sha256}", roles: [viewer], expires: "2099-01-01T00:00:00Z"}\n`,
    { mode: 0o600 },
  );
  const { addresses, stop } = await world.startFabricd(world.restartable.program, folder, [
    "--loopback-roles",
    "none",
    "--tokens",
    file,
  ]);
  try {
    page.expectErrors = true; // Chromium logs each 401.
    await page.goto(`http://${addresses.rest}/#/campaigns`);
    await page.waitForSelector("input[type=password]");
    await page.type("input[type=password]", "wrong");
    await press(page, "Use token");
    await page.waitForFunction(() => sessionStorage.getItem("fabricd-token") === "wrong");
    await page.waitForSelector("[role=alert]");
    await page.type("input[type=password]", secret);
    await press(page, "Use token");
    await waitText(page, "the role operator is needed");
    if (await page.$("nav a[href='#/audit']")) throw new Error("a viewer sees the audit log");
    if (await page.$("form.form textarea"))
      throw new Error("a viewer sees the form that starts campaigns");
    if ((await page.cookies()).length > 0) throw new Error("the page has cookies");
  } finally {
    page.expectErrors = false;
    await stop();
  }
}

async function lostConnection(page, world) {
  page.expectErrors = true; // Chromium logs the aborted stream.
  await page.goto(`${world.rest}/#/nodes`);
  await waitText(page, "gpu-0001");
  process.kill(world.pid, "SIGKILL");
  await waitText(page, "Connection lost");
}

// Events end with fabricd. What it stores is still what changed.
async function changesAfterARestart(page, world) {
  const { program, folder } = world.restartable;
  fs.rmSync(path.join(folder, "addresses.json"));
  const { addresses, stop } = await world.startFabricd(program, folder);
  try {
    await page.goto(`http://${addresses.rest}/#/`);
    await waitText(page, "What changed lately");
    await waitText(page, `certificate ${world.certificate} of job train-7: FAIL`, 60000);
    await waitText(page, `campaign ${world.campaign} done`, 60000);
    const good = await page.$$eval(".tile.good .title", (all) => all.map((one) => one.innerText));
    if (good.length > 0) throw new Error(`no node is connected, but these are good: ${good}`);
    await page.setViewport({ width: 1280, height: 900 });
    await page.screenshot({ path: path.join(world.output, "overview-after-restart.png") });
  } finally {
    page.expectErrors = true; // Chromium logs the stream that ends.
    await stop();
  }
}

export async function checkBehaviour(world, open, fail) {
  for (const step of [
    acknowledgeAndSilence,
    silenceARuleFromTheForm,
    addAndDeleteASchedule,
    liveUpdate,
    keyboardOnHeatMap,
    startFromTheForm,
    readTheAuditLog,
    tokens,
  ]) {
    const { context, page } = await open();
    page.setDefaultTimeout(20000);
    try {
      await step(page, world);
      console.log(`${step.name} passed`);
    } catch (error) {
      fail(step.name, `${error.message}\n${(await textOf(page)).slice(0, 600)}`);
    }
    await context.close();
  }
}

export async function checkLostConnection(world, open, fail) {
  for (const step of [lostConnection, changesAfterARestart]) {
    const { context, page } = await open();
    try {
      await step(page, world);
      console.log(`${step.name} passed`);
    } catch (error) {
      fail(step.name, `${error.message}\n${(await textOf(page)).slice(0, 1500)}`);
    }
    await context.close();
  }
}
