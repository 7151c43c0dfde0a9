// Snapshot of an InfiniBand subnet as fabric-agent writes it: two leaves, a spine and eight hosts. One
// cable has bit errors.
const AT = ["2026-11-26T10:00:00Z", "2026-11-26T10:01:00Z"];
const SYMBOL_ERRORS = 4; // Offset in the attribute PortCounters, 16 bits

function counters(at, symbolErrors) {
  const attribute = Buffer.alloc(64);
  attribute.writeUInt16BE(symbolErrors, SYMBOL_ERRORS);
  return { at, port_counters: attribute.toString("base64") };
}

export function snapshot() {
  const nodes = ["leaf-1", "leaf-2", "spine-1"].map((description, index) => ({
    guid: String(0x1000 + 16 * index),
    type: "SUBNET_NODE_TYPE_SWITCH",
    port_count: 16,
    description,
    ports: [],
  }));
  const connect = (from, fromPort, to, toPort, errors = 0) => {
    for (const [node, port, peer, peerPort] of [
      [from, fromPort, to, toPort],
      [to, toPort, from, fromPort],
    ])
      nodes[node].ports.push({
        number: port,
        peer: peer + 1,
        peer_port: peerPort,
        first_counters: counters(AT[0], 0),
        counters: counters(AT[1], node === from ? errors : 0),
      });
  };
  for (const leaf of [0, 1]) {
    for (let host = 1; host <= 4; ++host) {
      nodes.push({
        guid: String(0x2000 + 16 * nodes.length),
        type: "SUBNET_NODE_TYPE_ADAPTER",
        port_count: 1,
        description: `ib-${4 * leaf + host} mlx5_0`,
        ports: [],
      });
      connect(leaf, host, nodes.length - 1, 1, leaf === 0 && host === 3 ? 4100 : 0);
    }
    connect(leaf, 9, 2, leaf + 1);
  }
  const manager = (lid, priority, state) => ({ port_guid: String(lid), lid, priority, state });
  return {
    schema: "fabric.v1.SubnetSnapshot",
    started_at: AT[1],
    finished_at: AT[1],
    reader: "mlx5_0 port 1",
    managers: [manager(1, 9, 3), manager(2, 5, 2)],
    nodes,
  };
}
