// A real fabricd with a simulated fleet, a campaign, a certificate and open findings.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { startFleet } from "./fleet.mjs";
import { snapshot } from "./subnet.mjs";
import { startSubnetAgent } from "./subnet_agent.mjs";

const NODES = 1024;
const RAILS = 4;

export async function until(what, check, limitMs = 60000) {
  const end = Date.now() + limitMs;
  while (Date.now() < end) {
    const value = await check();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`${what}: not within ${limitMs} ms`);
}

export async function call(rest, path_, body) {
  const response = await fetch(
    rest + path_,
    body === undefined
      ? {}
      : {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify(body),
        },
  );
  const answer = await response.json();
  if (!response.ok) throw new Error(`${path_}: ${answer.message}`);
  return answer;
}

export async function startFabricd(program, folder, extra = []) {
  const file = path.join(folder, "addresses.json");
  const log = fs.openSync(path.join(folder, "fabricd.log"), "a");
  const child = spawn(
    program,
    [
      "--state",
      path.join(folder, "state.db"),
      "--grpc",
      "127.0.0.1:0",
      "--rest",
      "127.0.0.1:0",
      "--addresses-file",
      file,
      ...extra,
    ],
    { stdio: ["ignore", log, log] },
  );
  const addresses = await until("fabricd starts", () => {
    if (child.exitCode !== null)
      throw new Error(
        `fabricd ended: ${fs.readFileSync(path.join(folder, "fabricd.log"), "utf8")}`,
      );
    return fs.existsSync(file) && JSON.parse(fs.readFileSync(file, "utf8"));
  });
  const stop = () =>
    new Promise((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve();
      child.once("exit", resolve);
      child.kill("SIGTERM");
      setTimeout(() => child.kill("SIGKILL"), 10000).unref();
    });
  return { addresses, stop, pid: child.pid };
}

// What the pages show: results of a campaign, a certificate, findings, a schedule, maintenance.
async function fill(rest) {
  const nodes = Array.from(
    { length: 80 },
    (_, index) => `gpu-${String(2 * index + 1).padStart(4, "0")}`,
  ).concat("gpu-0042");
  const campaign = await call(rest, "/v1/campaigns", { spec: { nodes, rails: [0] } });
  await until(
    "the campaign ends",
    async () => (await call(rest, `/v1/campaigns/${campaign.id}`)).state === "CAMPAIGN_STATE_DONE",
    180000,
  );
  const certificate = await call(rest, "/v1/certificates", {
    request: {
      nodes: ["gpu-0001", "gpu-0033", "gpu-0042", "gpu-0017"],
      job_id: "train-7",
      within_seconds: 20,
    },
  });
  await until(
    "the certificate is issued",
    async () =>
      (await call(rest, `/v1/certificates/${certificate.id}`)).certificate.state ===
      "CERTIFICATE_STATE_DONE",
    60000,
  );
  const { findings } = await call(rest, "/v1/findings?rule=pfc_covers_roce_dscp");
  const schedule = await call(rest, "/v1/schedules", {
    schedule: { cron: "30 2 * * 1-5", spec: { preset: "CAMPAIGN_PRESET_QUICK" }, author: "mia" },
  });
  await call(rest, "/v1/silences", {
    silence: { node: "gpu-0900", author: "mia", reason: "firmware update", maintenance: true },
    duration_seconds: 4 * 3600,
  });
  return {
    campaign: campaign.id,
    certificate: certificate.id,
    finding: findings[0].id,
    schedule: schedule.id,
  };
}

export async function openWorld(program, output) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "web-"));
  const subnet = path.join(folder, "subnet.json");
  fs.writeFileSync(subnet, JSON.stringify(snapshot()));
  const fabricd = await startFabricd(program, folder, ["--infiniband-topology", subnet]);
  const rest = `http://${fabricd.addresses.rest}`;
  try {
    const fleet = await startFleet(fabricd.addresses.grpc, NODES, RAILS);
    await until(
      "the fleet is connected",
      async () => (await call(rest, "/v1/nodes?page_size=1")).total_size === NODES,
    );
    fleet.lose(500);
    const reader = await startSubnetAgent(fabricd.addresses.grpc);
    await until("the subnet is read", async () =>
      (await call(rest, "/v1/subnets")).subnets.some((one) => one.name === reader.subnet && one.read_at),
    );
    const ids = await fill(rest);
    return {
      rest,
      grpc: fabricd.addresses.grpc,
      fleet,
      ...ids,
      restartable: { program, folder },
      output,
      pid: fabricd.pid,
      startFabricd,
      close: async () => {
        fleet.agents.forEach((agent) => agent.end());
        reader.end();
        await fabricd.stop();
        fs.copyFileSync(path.join(folder, "fabricd.log"), path.join(output, "fabricd.log"));
        fs.rmSync(folder, { recursive: true });
      },
    };
  } catch (error) {
    await fabricd.stop();
    throw error;
  }
}
