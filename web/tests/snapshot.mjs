// Snapshots of simulated nodes: ConnectX-7, RoCE, PFC on priority 3, one leaf switch for each 32
// nodes of a rail. Pure.

export const NODES_PER_LEAF = 32;
const PRIORITIES = [0, 1, 2, 3, 4, 5, 6, 7];

export const nodeName = (number) => `gpu-${String(number).padStart(4, "0")}`;
export const leafName = (number, rail) =>
  `r${rail}-leaf${String(Math.floor((number - 1) / NODES_PER_LEAF) + 1).padStart(2, "0")}`;

const hex = (number, digits = 2) => number.toString(16).padStart(digits, "0");
const address = (number, rail) => `10.${10 + (number >> 8)}.${rail}.${number & 255}`;
const pciOfRail = (rail) => `0000:${hex(0x17 + rail)}:00.0`;

// The GID that probes use: RoCE v2 of the IPv4 address.
export const probeGid = (number, rail) => gids(number, rail, "")[3].gid;

function gids(number, rail, netdev) {
  const ipv4 = address(number, rail);
  const [a, b, c, d] = ipv4.split(".").map((part) => hex(Number(part)));
  const mapped = `0000:0000:0000:0000:0000:ffff:${a}${b}:${c}${d}`;
  const local = `fe80:0000:0000:0000:5054:${hex(number >> 8)}ff:fe${hex(rail)}:${hex(number, 4)}`;
  return [
    [local, "GID_TYPE_ROCE_V1", ""],
    [local, "GID_TYPE_ROCE_V2", ""],
    [mapped, "GID_TYPE_ROCE_V1", ipv4],
    [mapped, "GID_TYPE_ROCE_V2", ipv4],
  ].map(([gid, type, of], index) => ({
    index,
    gid,
    type,
    netdev,
    link_local: of === "",
    ipv4: of,
  }));
}

function device(number, rail) {
  const guid = `5054:${hex(number >> 8)}ff:fe${hex(rail)}:${hex(number, 4)}`;
  return {
    name: `mlx5_${rail}`,
    node_guid: guid,
    sys_image_guid: guid,
    node_type: "NODE_TYPE_CA",
    protocol: "PROTOCOL_ROCE",
    driver: "mlx5_core",
    pci_address: pciOfRail(rail),
    function: { kind: "FUNCTION_KIND_PHYSICAL", role: "FUNCTION_ROLE_FABRIC" },
    model: "ConnectX-7",
    board_id: "MT_0000000838",
    firmware: "28.39.1002",
    ports: [
      {
        number: 1,
        state: "PORT_STATE_ACTIVE",
        physical_state: "PHYSICAL_STATE_LINK_UP",
        link_layer: "LINK_LAYER_ETHERNET",
        rate_bps: 400e9,
        width: 4,
        speed: "NDR",
        lid: 0,
        sm_lid: 0,
        active_mtu_bytes: 4096,
        max_mtu_bytes: 4096,
        netdev: `rail${rail}`,
        gids: gids(number, rail, `rail${rail}`),
      },
    ],
  };
}

function dcb() {
  const dscps = Array.from({ length: 64 }, (_, dscp) => dscp);
  return {
    source: "dcb netlink",
    pfc: { enabled_mask: 8, capability: 8 },
    dcbx: { host: true, ieee: true },
    app_read: true,
    trust: "TRUST_DSCP",
    app: dscps.map((dscp) => ({
      selector: "APP_SELECTOR_DSCP",
      protocol: dscp,
      priority: dscp >> 3,
    })),
    dscp_to_priority: dscps.map((dscp) => dscp >> 3),
    ets: {
      capability: 8,
      priority_to_tc: PRIORITIES,
      tc_algorithm: PRIORITIES.map(() => 2),
      tc_tx_bandwidth_percent: PRIORITIES.map((priority) => 12 + (priority % 2)),
    },
  };
}

function netdev(number, rail) {
  return {
    name: `rail${rail}`,
    index: 3 + rail,
    mac: `52:54:${hex(number >> 8)}:fb:${hex(rail)}:${hex(number & 255)}`,
    mtu_bytes: 9000,
    oper_state: "OPER_STATE_UP",
    carrier: true,
    speed_bps: 400e9,
    addresses: [`${address(number, rail)}/24`],
    driver: "mlx5_core",
    pci_address: pciOfRail(rail),
    dcb: dcb(),
  };
}

function neighbor(number, rail) {
  const leaf = leafName(number, rail);
  return {
    netdev: `rail${rail}`,
    source: "capture",
    chassis_id: leaf,
    chassis_id_subtype: 7,
    port_id: `Ethernet${((number - 1) % NODES_PER_LEAF) + 1}`,
    port_id_subtype: 5,
    system_name: leaf,
    system_description: "SONiC 202411",
  };
}

export function snapshotOf(number, rails) {
  const all = Array.from({ length: rails }, (_, rail) => rail);
  return {
    node: {
      name: nodeName(number),
      machine_id: hex(number, 32),
      boot_id: `boot-${number}`,
      kernel_release: "6.1.0-37-amd64",
      agent_version: "0.1.0",
    },
    taken_at: { seconds: Math.floor(Date.now() / 1000), nanos: 0 },
    rdma_devices: all.map((rail) => device(number, rail)),
    net_interfaces: all.map((rail) => netdev(number, rail)),
    lldp_neighbors: all.map((rail) => neighbor(number, rail)),
    gpus: [{ pci_address: "0000:1b:00.0", vendor_id: "10de", device_id: "2330", driver: "nvidia" }],
    peer_memory: { nvidia_peermem_loaded: true, nv_peer_mem_loaded: false },
    host: {
      product: "server with ConnectX-7",
      distribution: "Debian GNU/Linux 12 (bookworm)",
      rdma_stack: "RDMA_STACK_INBOX",
      rdma_netns_mode: "RDMA_NETNS_MODE_SHARED",
      kernel_command_line: "BOOT_IMAGE=/vmlinuz ro intel_iommu=on iommu=pt",
      default_user_memlock: { unlimited: true, source: "etc/security/limits.d/rdma.conf" },
      numa_nodes: 1,
      virtualization: "none",
    },
    time_sync: { synchronized: true, offset_seconds: 0.001 },
  };
}

// Counters of one port: driver's name, neutral name, unit, increase per second.
export const COUNTERS = [
  ["port_xmit_data", "rdma_tx_bytes", "bytes", 21e9],
  ["port_rcv_data", "rdma_rx_bytes", "bytes", 20e9],
  ["port_xmit_packets", "rdma_tx_packets", "packets", 5.2e6],
  ["port_rcv_packets", "rdma_rx_packets", "packets", 5.0e6],
  ["np_cnp_sent", "cnp_tx_packets", "packets", 40],
  ["out_of_sequence", "out_of_sequence", "packets", 0],
  ["symbol_error", "symbol_errors", "events", 0],
  ["link_downed", "link_down_events", "events", 0],
];

export function counterSets(rails) {
  return Array.from({ length: rails }, (_, rail) => ({
    device: `mlx5_${rail}`,
    port: 1,
    counters: COUNTERS.map(([name, neutral, unit]) => ({
      name,
      neutral,
      unit,
      value: 1e9,
      source: "COUNTER_SOURCE_HW",
      width_bits: 64,
    })),
  }));
}

// Faults of the simulated fleet, by node.
export function plantFaults(snapshot, number) {
  const [first, second, third] = snapshot.net_interfaces;
  if (number === 17 && second) {
    second.mtu_bytes = 4200;
    snapshot.rdma_devices[1].ports[0].active_mtu_bytes = 2048;
  }
  if (number === 100) first.dcb.pfc.enabled_mask = 0;
  if (number === 101) first.dcb.trust = "TRUST_PCP";
  if (number >= 200 && number < 206) snapshot.peer_memory.nvidia_peermem_loaded = false;
  if (number === 300 && third) {
    Object.assign(snapshot.rdma_devices[2].ports[0], {
      state: "PORT_STATE_DOWN",
      physical_state: "PHYSICAL_STATE_POLLING",
    });
    Object.assign(third, { carrier: false, oper_state: "OPER_STATE_DOWN" });
  }
  if (number === 9) {
    delete snapshot.net_interfaces[0].dcb;
    snapshot.gaps = [
      {
        inspector: "dcb",
        subject: "rail0",
        path: "netlink dcb rail0",
        code: "GAP_CODE_PERMISSION_DENIED",
        reason: "Operation not permitted",
      },
    ];
  }
  return snapshot;
}
