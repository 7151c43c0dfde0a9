// A simulated agent of a node in an InfiniBand subnet, which reads it: three levels of switches.
import path from "node:path";
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";
import protobuf from "protobufjs";
import { fileURLToPath } from "node:url";

const PROTO = fileURLToPath(new URL("../../proto", import.meta.url));
const NODE = "ib-reader";
const DEVICE = "mlx5_9";
const [CORES, PODS, LEAVES, ADAPTERS] = [2, 2, 2, 4];
const FIRST_GUID = 0x900000;
const guidText = (guid) =>
  guid
    .toString(16)
    .padStart(16, "0")
    .match(/.{4}/g)
    .join(":");

// Cores connect pods; a pod has two spines, two leaves, and four adapters below each leaf.
function makeSubnet() {
  const nodes = [];
  const add = (description, type) =>
    nodes.push({ guid: FIRST_GUID + 16 * nodes.length, type, description, port_count: 32, ports: [] }) -
    1;
  const connect = (from, to) => {
    const [a, b] = [nodes[from], nodes[to]].map(({ ports }) => ports.length + 1);
    const end = (node, number, peer, peer_port) =>
      nodes[node].ports.push({ number, peer: peer + 1, peer_port, guid: nodes[node].guid });
    end(from, a, to, b);
    end(to, b, from, a);
  };
  const addSwitch = (name) => add(name, "SUBNET_NODE_TYPE_SWITCH");
  const cores = Array.from({ length: CORES }, (_, at) => addSwitch(`ib-core-${at + 1}`));
  for (let pod = 1; pod <= PODS; ++pod) {
    const spines = [1, 2].map((at) => addSwitch(`ib-pod-${pod} spine-${at}`));
    for (const spine of spines) cores.forEach((core) => connect(core, spine));
    for (let leaf = 1; leaf <= LEAVES; ++leaf) {
      const one = addSwitch(`ib-pod-${pod} leaf-${leaf}`);
      spines.forEach((spine) => connect(spine, one));
      for (let host = 1; host <= ADAPTERS; ++host)
        connect(one, add(`gpu-${pod}${leaf}${host} mlx5_0`, "SUBNET_NODE_TYPE_ADAPTER"));
    }
  }
  return nodes;
}

async function encoded(nodes) {
  const root = new protobuf.Root();
  root.resolvePath = (_, file) =>
    file.startsWith("google/") && !file.startsWith("google/api")
      ? path.join("/usr/include", file)
      : path.join(PROTO, file);
  await root.load("fabric/v1/subnet.proto", { keepCase: true });
  const type = root.lookupType("fabric.v1.SubnetSnapshot");
  const now = { seconds: Math.floor(Date.now() / 1000), nanos: 0 };
  const message = type.fromObject({
    schema: "fabric.v1.SubnetSnapshot",
    started_at: now,
    finished_at: now,
    reader: `${DEVICE} port 1`,
    managers: [{ port_guid: nodes.at(-1).guid, lid: 1, priority: 9, state: 3 }],
    nodes,
  });
  return Buffer.from(type.encode(message).finish());
}

// A zstd frame with one block that is not compressed (RFC 8878).
function frameOf(bytes) {
  const header = Buffer.alloc(12);
  header.writeUInt32LE(0xfd2fb528, 0);
  header[4] = 0xa0; // A single segment; 4 bytes have its size.
  header.writeUInt32LE(bytes.length, 5);
  header.writeUIntLE(1 | (bytes.length << 3), 9, 3);
  return Buffer.concat([header, bytes]);
}

// FNV-1a, 64 bits
function digestOf(bytes) {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return String(hash);
}

const nodeSnapshot = (guid) => ({
  node: { name: NODE, machine_id: "ib", boot_id: "ib", agent_version: "0.1.0" },
  taken_at: { seconds: Math.floor(Date.now() / 1000), nanos: 0 },
  rdma_devices: [
    {
      name: DEVICE,
      node_guid: guidText(guid),
      protocol: "PROTOCOL_INFINIBAND",
      driver: "mlx5_core",
      ports: [
        {
          number: 1,
          state: "PORT_STATE_ACTIVE",
          physical_state: "PHYSICAL_STATE_LINK_UP",
          link_layer: "LINK_LAYER_INFINIBAND",
          port_guid: guidText(guid),
        },
      ],
    },
  ],
});

export async function startSubnetAgent(address) {
  const definition = await loader.load("fabric/v1/agent.proto", {
    includeDirs: [PROTO, "/usr/include"],
    keepCase: true,
    longs: String,
    enums: String,
    oneofs: true,
  });
  const { AgentLink } = grpc.loadPackageDefinition(definition).fabric.v1;
  const nodes = makeSubnet();
  const bytes = await encoded(nodes);
  const snapshot = nodeSnapshot(nodes.at(-1).guid);
  const stream = new AgentLink(address, grpc.credentials.createInsecure()).Connect();
  let heartbeat;
  const end = () => clearInterval(heartbeat);
  stream.on("error", end);
  stream.on("end", end);
  stream.on("data", (message) => {
    if (message.welcome) {
      stream.write({ snapshot });
      heartbeat = setInterval(
        () => stream.write({ heartbeat: { sequence: 1 } }),
        message.welcome.heartbeat_interval_ms,
      );
    } else if (message.snapshot_request) {
      stream.write({ snapshot });
    } else if (message.subnet_order?.device) {
      stream.write({
        subnet_part: {
          device: DEVICE,
          port: 1,
          last: true,
          data: frameOf(bytes),
          size: bytes.length,
          digest: digestOf(bytes),
        },
      });
    }
  });
  stream.write({ hello: { node: snapshot.node, reads_subnets: true } });
  return { end: () => (end(), stream.end()), subnet: `${DEVICE}/1` };
}
