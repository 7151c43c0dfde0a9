// One node: its ports, open findings, counters, changes, gaps.
import { ApiError, get, list } from "../api";
import { Age, Empty, Facts, LoadError, Loading, Panel, State, Value } from "../parts/basics";
import { FindingTable } from "./findings";
import { NodeState } from "./nodes";
import { NodeHistory, NodeRates } from "./node_counters";
import { Table, type Column } from "../parts/table";
import { MISSING, bitRate, byName, count, labelsText, priorities, word } from "../format";
import { hashOf } from "../router";
import { useLoad } from "../session";
import type { DeviceSummary, Difference, Finding, NodeSnapshot, NodeSummary } from "../types";

const CHANGES_SECONDS = 3600;

interface NodeData {
  summary: NodeSummary;
  snapshot: NodeSnapshot;
  devices: DeviceSummary[];
  devicesError: string;
  findings: Finding[];
  changes: Difference[] | string;
}

// A string: why they are not known, for example because the node never connected.
async function changesOf(path: string, signal: AbortSignal): Promise<Difference[] | string> {
  try {
    const changed = await get<{ differences: Difference[] }>(
      `${path}:diff`,
      { since_seconds: CHANGES_SECONDS },
      signal,
    );
    return changed.differences.filter((one) => !one.counter);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 0) throw error;
    return error.message;
  }
}

async function load(name: string, signal: AbortSignal): Promise<NodeData> {
  const path = `/v1/nodes/${encodeURIComponent(name)}`;
  const node = await get<{ summary: NodeSummary; snapshot: NodeSnapshot }>(
    path,
    { fields: "summary,snapshot.host,snapshot.gaps" },
    signal,
  );
  const changes = await changesOf(path, signal);
  const findings = await list<Finding>(
    "/v1/findings",
    "findings",
    { node: name, include_unknown: true },
    1000,
    signal,
  );
  try {
    const devices = await list<DeviceSummary>(
      "/v1/devices",
      "devices",
      { node: name },
      1000,
      signal,
    );
    return { ...node, devices: devices.items, devicesError: "", findings: findings.items, changes };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 0) throw error;
    return { ...node, devices: [], devicesError: error.message, findings: findings.items, changes };
  }
}

export function PortState({ device }: { device: DeviceSummary }) {
  const state = word(device.state, "PORT_STATE").toUpperCase();
  return <State text={state} good={state === "ACTIVE"} bad={state === "DOWN"} />;
}

export const PORT_COLUMNS: Column<DeviceSummary>[] = [
  {
    title: "Port",
    unbroken: true,
    sort: (one) => `${one.device}/${one.port}`,
    cell: (one) => (
      <a href={hashOf(["nodes", one.node, one.device, String(one.port)])}>
        {one.device}/{one.port}
      </a>
    ),
  },
  {
    title: "Rail",
    numeric: true,
    sort: (one) => one.rail,
    cell: (one) => <Value text={count(one.rail)} why="not a fabric port" />,
  },
  { title: "State", sort: (one) => one.state, cell: (one) => <PortState device={one} /> },
  {
    title: "Rate",
    numeric: true,
    sort: (one) => (one.rate_bps === undefined ? undefined : Number(one.rate_bps)),
    cell: (one) => (
      <Value text={bitRate(one.rate_bps === undefined ? undefined : Number(one.rate_bps))} />
    ),
  },
  {
    title: "Netdev",
    minor: true,
    sort: (one) => one.netdev,
    cell: (one) => <Value text={one.netdev || MISSING} why="no netdev" />,
  },
  {
    title: "MTU",
    numeric: true,
    sort: (one) => one.active_mtu_bytes,
    cell: (one) => (
      <>
        <Value text={count(one.active_mtu_bytes)} /> /{" "}
        <Value text={count(one.netdev_mtu_bytes)} why="no netdev" />
      </>
    ),
  },
  {
    title: "PFC",
    minor: true,
    sort: (one) => one.pfc_enabled_mask,
    cell: (one) => <Value text={priorities(one.pfc_enabled_mask)} why="DCB was not read" />,
  },
  {
    title: "Leaf",
    sort: (one) => one.leaf,
    cell: (one) =>
      one.leaf ? (
        <a href={hashOf(["topology"], { leaf: one.leaf })}>{one.leaf}</a>
      ) : (
        <Value text={MISSING} why="no LLDP neighbor and no topology file" />
      ),
  },
];

export function NodePage({ name }: { name: string }) {
  const { value, error } = useLoad<NodeData>(
    `node ${name}`,
    (signal) => load(name, signal),
    ["node", "finding", "port"],
    15_000,
  );
  if (!value)
    return (
      <>
        <h1>Node {name}</h1>
        <Loading error={error} />
      </>
    );
  const { summary } = value;
  const { gaps = [], host } = value.snapshot ?? {};
  return (
    <>
      <nav class="crumbs" aria-label="Path">
        <a href={hashOf(["nodes"])}>Nodes</a> / {name}
      </nav>
      <h1>
        {name} <NodeState node={summary} />
      </h1>
      <LoadError error={error} />
      <Facts
        rows={[
          ["State since", <Age at={summary.state_since} />],
          ["Last report", <Age at={summary.reported_at} />],
          ["Product", <Value text={host?.product ?? MISSING} />],
          ["Kernel", <Value text={summary.kernel_release || MISSING} />],
          ["Agent", <Value text={summary.agent_version || MISSING} />],
          ["GPUs", count(summary.gpus)],
          ["Labels", <Value text={labelsText(summary.labels) || MISSING} why="no labels" />],
        ]}
      />
      {summary.lost_reason !== "" && <p class="error">Lost: {summary.lost_reason}</p>}
      {summary.maintenance !== "" && <p>In maintenance {summary.maintenance}</p>}
      <Panel title="Ports">
        {value.devicesError !== "" ? (
          <Empty>{value.devicesError}</Empty>
        ) : (
          <Table
            rows={value.devices}
            columns={PORT_COLUMNS}
            keyOf={(one) => `${one.device}/${one.port}`}
            caption="Ports"
            empty="The node has no RDMA port."
          />
        )}
      </Panel>
      <Panel
        title="Findings"
        extra={<a href={hashOf(["silences"], { node: name })}>Silence or maintenance</a>}
      >
        <FindingTable findings={value.findings} empty="No finding about this node." />
      </Panel>
      {value.devices.length > 0 && (
        <>
          <Panel title="Counters now">
            <NodeRates node={name} devices={value.devices} />
          </Panel>
          <Panel title="Counters of the last hour">
            <NodeHistory node={name} devices={value.devices} />
          </Panel>
        </>
      )}
      <Panel title="Settings that changed in the last hour">
        {typeof value.changes === "string" ? (
          <Empty>{value.changes}</Empty>
        ) : (
          <Table
            rows={value.changes}
            keyOf={(one) => one.path}
            caption="Changes"
            empty="None."
            name="change"
            columns={[
              {
                title: "Changed",
                cell: (one) => <Age at={one.changed_at} />,
                sort: (one) => one.changed_at,
              },
              { title: "Setting", cell: (one) => <code>{one.path}</code>, sort: (one) => one.path },
              { title: "Before", cell: (one) => <Value text={one.before} why="it was absent" /> },
              { title: "Now", cell: (one) => <Value text={one.after} why="it is absent" /> },
            ]}
          />
        )}
      </Panel>
      <Panel title="Values that could not be read">
        {gaps.length === 0 ? (
          <Empty>None.</Empty>
        ) : (
          <Table
            rows={[...gaps].sort((a, b) => byName(a.path, b.path))}
            keyOf={(gap) => `${gap.inspector} ${gap.subject} ${gap.path}`}
            caption="Gaps"
            empty=""
            name="gap"
            columns={[
              { title: "Subject", cell: (gap) => gap.subject || "node" },
              { title: "Where", cell: (gap) => <code>{gap.path}</code> },
              { title: "Why", cell: (gap) => gap.reason },
            ]}
          />
        )}
      </Panel>
    </>
  );
}
