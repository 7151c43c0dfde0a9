// Rails, leaves and their ports from the list of ports, and what is marked on them. Pure.
import { byName, severityRank } from "./format";
import type { Campaign, DeviceSummary, Finding, MeshStatus, Suspect } from "./types";

export interface Leaf {
  name: string; // Empty: unknown
  ports: DeviceSummary[];
  notActive: number;
  findings: Finding[]; // Open, about the leaf or a port below it
  suspects: Suspect[];
}

export interface Rail {
  number: number;
  leaves: Leaf[];
}

export interface Topology {
  rails: Rail[];
  spines: Suspect[]; // Also switches above the leaves. Only blame names them.
  elsewhere: Suspect[]; // Suspects that are no part of a leaf: rails, the fabric
}

// Suspects of the mesh, of campaigns that run, and of open findings about located faults.
export function suspectsOf(
  mesh: MeshStatus | undefined,
  campaigns: Campaign[],
  findings: Finding[],
): Suspect[] {
  const running = campaigns.filter((one) => one.state === "CAMPAIGN_STATE_RUNNING");
  const all = [
    ...(mesh?.blame?.suspects ?? []),
    ...running.flatMap((one) => one.blame?.suspects ?? []),
    ...findings.flatMap((one) => (one.suspect ? [one.suspect] : [])),
  ];
  return all.filter(
    (one, index) =>
      all.findIndex((other) => other.name === one.name && other.kind === one.kind) === index,
  );
}

export function makeTopology(
  devices: DeviceSummary[],
  findings: Finding[],
  suspects: Suspect[],
): Topology {
  const rails = new Map<number, Map<string, Leaf>>();
  const leafOfPort = new Map<string, Leaf>();
  for (const device of devices) {
    if (device.rail === undefined) continue;
    const leaves = rails.get(device.rail) ?? new Map<string, Leaf>();
    rails.set(device.rail, leaves);
    const name = device.leaf ?? "";
    const leaf = leaves.get(name) ?? { name, ports: [], notActive: 0, findings: [], suspects: [] };
    leaves.set(name, leaf);
    leaf.ports.push(device);
    if (device.state !== "PORT_STATE_ACTIVE") ++leaf.notActive;
    leafOfPort.set(`${device.node}/${device.device}/${device.port}`, leaf);
  }
  const all = [...rails.values()].flatMap((leaves) => [...leaves.values()]);
  for (const finding of findings) {
    const { node, device, port, switch_name } = finding.subject;
    const leaf =
      leafOfPort.get(`${node}/${device}/${port}`) ??
      (switch_name !== "" ? all.find((one) => one.name === switch_name) : undefined);
    leaf?.findings.push(finding);
  }
  // Of a port its leaf, of a host all of its leaves.
  const leavesOf = ({ kind, node, device, port, leaf }: Suspect): Leaf[] => {
    if (kind === "SUSPECT_KIND_HOST")
      return all.filter((one) => one.ports.some((other) => other.node === node));
    const ofPort = leafOfPort.get(`${node}/${device}/${port}`);
    if (ofPort) return [ofPort];
    return leaf === "" ? [] : all.filter((one) => one.name === leaf);
  };
  const topology: Topology = { rails: [], spines: [], elsewhere: [] };
  for (const suspect of suspects) {
    const leaves = leavesOf(suspect);
    const above = suspect.kind === "SUSPECT_KIND_SWITCH" && leaves.length === 0;
    if (suspect.kind === "SUSPECT_KIND_SPINE" || above) topology.spines.push(suspect);
    else if (leaves.length === 0) topology.elsewhere.push(suspect);
    for (const leaf of leaves) leaf.suspects.push(suspect);
  }
  for (const leaf of all)
    leaf.findings.sort((a, b) => severityRank(a.severity) - severityRank(b.severity));
  topology.rails = [...rails]
    .sort(([a], [b]) => a - b)
    .map(([number, leaves]) => ({
      number,
      leaves: [...leaves.values()].sort((a, b) => byName(a.name, b.name)),
    }));
  return topology;
}
