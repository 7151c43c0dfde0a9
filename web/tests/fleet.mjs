// Simulated agents for a real fabricd: each has its own stream to the gRPC listener, reports a
// snapshot and counters, and answers probes with the values of a simulated fabric.
//
//   node fleet.mjs HOST:PORT [NODES] [RAILS]
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";
import { fileURLToPath } from "node:url";
import {
  COUNTERS,
  NODES_PER_LEAF,
  counterSets,
  nodeName,
  plantFaults,
  probeGid,
  snapshotOf,
} from "./snapshot.mjs";

const PROTO = fileURLToPath(new URL("../../proto", import.meta.url));
const COUNTER_SECONDS = 5;
const STREAMS_PER_CHANNEL = 64;
const IDLE_NODES = 256;

const numberOf = (node) => Number(node.slice(4));
const leafOf = (number) => Math.floor((number - 1) / NODES_PER_LEAF);

// Latency and bandwidth of a pair. Leaf 4 of rail 0 is slow, and so is the port of one node.
export function measure(from, to, rail, spec, random) {
  const [a, b] = [numberOf(from), numberOf(to)];
  const hops = leafOf(a) === leafOf(b) ? 1 : 3;
  const slowLeaf = rail === 0 && hops > 1 && (leafOf(a) === 3 || leafOf(b) === 3);
  const slowPort = a === 42 || b === 42;
  if (spec.kind.includes("bandwidth")) {
    const direction = () => {
      const noise = 1 + 0.05 * random();
      const gbps = (388 * (slowLeaf ? 0.6 : 1) * (slowPort ? 0.35 : 1)) / noise;
      return {
        mean_bps: gbps * 1e9,
        bytes: 65536000,
        seconds: (65536000 * 8) / gbps / 1e9,
        messages_per_second: (gbps * 1e9) / 8 / 65536,
      };
    };
    const both = spec[spec.kind].bidirectional;
    return { bandwidth: direction(), ...(both && { reverse_bandwidth: direction() }) };
  }
  const noise = 1 + 0.05 * random();
  const us = (1.1 + 0.6 * hops) * noise * (slowLeaf ? 2.5 : 1) * (slowPort ? 1.8 : 1);
  return {
    latency: {
      min_us: us * 0.95,
      median_us: us,
      mean_us: us * 1.01,
      p99_us: us * 1.2,
      p999_us: us * 1.4,
      max_us: us * 2,
      standard_deviation_us: us * 0.05,
      samples: 1000,
    },
  };
}

class SimulatedAgent {
  constructor(stub, number, rails) {
    this.number = number;
    this.rails = rails;
    this.probes = new Map();
    this.table = 1;
    this.stream = stub.Connect();
    this.stream.on("data", (message) => this.onMessage(message));
    this.stream.on("error", () => this.end());
    this.stream.on("end", () => this.end());
    const snapshot = plantFaults(snapshotOf(number, rails), number);
    this.stream.write({
      hello: {
        node: snapshot.node,
        probe_kinds: ["rc_write_latency", "rc_write_bandwidth", "ud_ping", "path_mtu"],
      },
    });
  }
  end() {
    clearInterval(this.heartbeat);
    clearInterval(this.sampling);
  }
  report() {
    const healthy = snapshotOf(this.number, this.rails);
    const snapshot = this.mended ? healthy : plantFaults(healthy, this.number);
    this.stream.write({ snapshot });
    this.stream.write({ counter_table: { table_id: ++this.table, sets: counterSets(this.rails) } });
  }
  sample() {
    // The first nodes are idle: campaigns skip ports that carry traffic.
    const load = this.number <= IDLE_NODES ? 1e-4 : 1;
    const busy = (rail) => load * (0.7 + 0.25 * Math.sin(Date.now() / 20000 + this.number + rail));
    const steps = [];
    const deltas = [];
    for (let rail = 0; rail < this.rails; ++rail)
      COUNTERS.forEach(([, , , rate]) => {
        steps.push(steps.length === 0 ? 0 : 1);
        deltas.push(Math.round(rate * COUNTER_SECONDS * busy(rail)));
      });
    this.stream.write({
      counter_sample: {
        table_id: this.table,
        index_steps: steps,
        deltas,
        taken_at: { seconds: Math.floor(Date.now() / 1000), nanos: 0 },
      },
    });
  }
  onMessage(message) {
    if (message.welcome) {
      this.report();
      this.heartbeat = setInterval(
        () => this.stream.write({ heartbeat: { sequence: 1 } }),
        message.welcome.heartbeat_interval_ms,
      );
      this.sampling = setInterval(() => this.sample(), COUNTER_SECONDS * 1000);
    } else if (message.snapshot_request) {
      this.report();
    } else if (message.probe_assignment) {
      const assignment = message.probe_assignment;
      this.probes.set(`${assignment.probe_id} ${assignment.role}`, assignment);
      this.stream.write({
        probe_ready: {
          probe_id: assignment.probe_id,
          role: assignment.role,
          endpoint: {
            gid: probeGid(this.number, Number(assignment.local.device.split("_")[1])),
          },
        },
      });
    } else if (message.probe_start) {
      this.start(message.probe_start);
    } else if (message.probe_stop) {
      for (const role of ["PROBE_ROLE_INITIATOR", "PROBE_ROLE_RESPONDER"])
        if (this.probes.has(`${message.probe_stop.probe_id} ${role}`))
          this.finish(message.probe_stop.probe_id, role, { status: "PROBE_STATUS_CANCELLED" });
    }
  }
  start(start) {
    const assignment = this.probes.get(`${start.probe_id} ${start.role}`);
    if (!assignment) return;
    if (start.role === "PROBE_ROLE_RESPONDER") {
      this.stream.write({ probe_armed: { probe_id: start.probe_id } });
      return;
    }
    const { local, remote, spec } = assignment;
    setTimeout(
      () =>
        this.finish(start.probe_id, start.role, {
          status: "PROBE_STATUS_OK",
          ...measure(local.node, remote.node, local.rail ?? 0, spec, Math.random),
        }),
      5,
    );
  }
  finish(probe_id, role, result) {
    this.probes.delete(`${probe_id} ${role}`);
    this.stream.write({ probe_outcome: { probe_id, role, result } });
  }
}

export async function startFleet(address, nodes = 1024, rails = 4) {
  const definition = await loader.load("fabric/v1/agent.proto", {
    includeDirs: [PROTO, "/usr/include"],
    keepCase: true,
    longs: String,
    enums: String,
    oneofs: true,
  });
  const { AgentLink } = grpc.loadPackageDefinition(definition).fabric.v1;
  const agents = [];
  let stub;
  for (let number = 1; number <= nodes; ++number) {
    if ((number - 1) % STREAMS_PER_CHANNEL === 0)
      stub = new AgentLink(address, grpc.credentials.createInsecure(), {
        "grpc.use_local_subchannel_pool": 1,
      });
    agents.push(new SimulatedAgent(stub, number, rails));
    if (number % 16 === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return {
    agents,
    lose: (number) => agents[number - 1].stream.end(),
    mend: (name) => {
      const agent = agents[numberOf(name) - 1];
      agent.mended = true;
      agent.report();
    },
    name: nodeName,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [address, nodes = "1024", rails = "4"] = process.argv.slice(2);
  const fleet = await startFleet(address, Number(nodes), Number(rails));
  console.log(`${fleet.agents.length} agents`);
  setTimeout(() => fleet.lose(Math.min(500, Number(nodes))), 5000);
}
