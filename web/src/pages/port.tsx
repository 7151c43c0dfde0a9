// One port: its settings, live counters, and the history that the controller keeps.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, list } from "../api";
import {
  addSample,
  countersOf,
  historyOf,
  liveRates,
  type PortCounter,
  type Sample,
} from "../counters";
import { MISSING, bitRate, count, priorities, scaled, word } from "../format";
import { Empty, Facts, LoadError, Loading, Panel, Value } from "../parts/basics";
import { Chart, type Line } from "../parts/chart";
import { FindingTable } from "./findings";
import { PortState } from "./node";
import { Table } from "../parts/table";
import { hashOf } from "../router";
import { useLoad } from "../session";
import type { CounterHistory, DeviceSummary, Finding, NodeSnapshot } from "../types";

const LIVE_MS = 3000;
// A whole snapshot can have megabytes.
export const LIVE_FIELDS = "counters_at,snapshot.taken_at,snapshot.counters";

// Charts: counters of one kind share one.
const CHARTS: { title: string; names: string[]; bytes?: boolean }[] = [
  { title: "Throughput", names: ["rdma_tx_bytes", "rdma_rx_bytes"], bytes: true },
  { title: "Packets", names: ["rdma_tx_packets", "rdma_rx_packets"] },
  {
    title: "Congestion",
    names: ["cnp_tx_packets", "cnp_rx_packets", "cnp_rx_handled", "ecn_marked_rx_packets"],
  },
  {
    title: "Loss and errors",
    names: [
      "out_of_sequence",
      "ack_timeout",
      "rx_discards",
      "tx_discards",
      "symbol_errors",
      "out_of_buffer",
    ],
  },
];
const LABELS: Record<string, string> = {
  rdma_tx_bytes: "sent",
  rdma_rx_bytes: "received",
  rdma_tx_packets: "sent",
  rdma_rx_packets: "received",
};

function Charts({
  times,
  valuesOf,
  empty,
  seconds,
}: {
  times: number[];
  valuesOf(name: string): (number | null)[];
  empty: string;
  seconds: number;
}) {
  const charts = CHARTS.map(({ title, names, bytes }) => ({
    title,
    bytes,
    lines: names
      .map((name): Line => ({
        label: LABELS[name] ?? name,
        values: valuesOf(name).map((value) => (value === null ? null : bytes ? value * 8 : value)),
      }))
      .filter((line) => line.values.some((value) => value !== null)),
  })).filter(({ lines }) => lines.length > 0);
  if (charts.length === 0) return <Empty>{empty}</Empty>;
  return (
    <div class="charts">
      {charts.map(({ title, lines, bytes }) => (
        <Chart
          key={title}
          title={title}
          times={times}
          lines={lines}
          seconds={seconds}
          format={(value) => (bytes ? bitRate(value) : scaled(value, "/s"))}
        />
      ))}
    </div>
  );
}

function useSamples(
  node: string,
  device: string,
  port: number,
  netdev: string,
): { samples: Sample[]; error: string | undefined } {
  const [samples, setSamples] = useState<Sample[]>([]);
  const key = `counters ${node} ${device} ${port}`;
  const { value, error } = useLoad(
    key,
    async (signal) => {
      return get<{ snapshot?: NodeSnapshot; counters_at?: string }>(
        `/v1/nodes/${encodeURIComponent(node)}`,
        { fields: LIVE_FIELDS },
        signal,
      );
    },
    [],
    LIVE_MS,
  );
  const seen = useRef(key);
  useEffect(() => {
    if (!value) return;
    const counters = new Map<string, PortCounter>();
    for (const counter of countersOf(value.snapshot?.counters ?? [], device, port, netdev))
      counters.set(counter.name, counter);
    const taken = value.counters_at ?? value.snapshot?.taken_at;
    const at = taken === undefined ? Date.now() / 1000 : Date.parse(taken) / 1000;
    const before = seen.current === key ? samples : [];
    seen.current = key;
    setSamples(addSample(before, { at, counters }));
  }, [value, netdev]);
  return { samples, error };
}

function Counters({ samples }: { samples: Sample[] }) {
  const last = samples[samples.length - 1];
  if (!last || last.counters.size === 0)
    return <Empty>The node reports no counters of this port.</Empty>;
  const rows = [...last.counters.values()].map((counter) => ({
    ...counter,
    rate: liveRates(samples.slice(-2), counter.name).pop() ?? undefined,
  }));
  return (
    <Table
      rows={rows}
      keyOf={(row) => row.name}
      caption="Counters"
      empty=""
      name="counter"
      pageSize={100}
      columns={[
        { title: "Counter", cell: (row) => <code>{row.name}</code>, sort: (row) => row.name },
        {
          title: "Value",
          numeric: true,
          cell: (row) => (
            <>
              {count(row.value)}
              {row.saturated && " (saturated)"}
            </>
          ),
          sort: (row) => row.value,
        },
        {
          title: "Per second",
          numeric: true,
          sort: (row) => row.rate,
          cell: (row) => (
            <Value
              text={
                row.rate === undefined
                  ? MISSING
                  : scaled(row.rate, row.unit === "bytes" ? "B/s" : "/s")
              }
              why="needs two samples without a reset"
            />
          ),
        },
        { title: "Unit", cell: (row) => row.unit, minor: true },
      ]}
    />
  );
}

function HistoryPanel({ node, device, port }: { node: string; device: string; port: number }) {
  const { value, error } = useLoad(
    `history ${node} ${device} ${port}`,
    (signal) =>
      get<CounterHistory>(
        `/v1/nodes/${encodeURIComponent(node)}/counters`,
        { device, port },
        signal,
      ),
    [],
    30_000,
  );
  if (!value) return <Loading error={error} />;
  const history = historyOf(value, device, port);
  return (
    <>
      <LoadError error={error} />
      {value.reason !== "" && <p class="muted">Incomplete: {value.reason}</p>}
      <Charts
        seconds={3600}
        times={history.times}
        valuesOf={(name) => history.series.get(name) ?? []}
        empty="No rates yet. The first one is known 30 s after the counters arrive."
      />
    </>
  );
}

export function PortPage({ node, device, port }: { node: string; device: string; port: number }) {
  const { value, error } = useLoad(
    `port ${node} ${device} ${port}`,
    async (signal) => {
      const devices = await list<DeviceSummary>("/v1/devices", "devices", { node }, 1000, signal);
      const findings = await list<Finding>(
        "/v1/findings",
        "findings",
        { node, include_unknown: true },
        1000,
        signal,
      );
      return {
        port: devices.items.find((one) => one.device === device && one.port === port),
        findings: findings.items.filter(
          (one) =>
            (one.subject.device === device && one.subject.port === port) ||
            one.affected.some(
              (subject) =>
                subject.node === node && subject.device === device && subject.port === port,
            ),
        ),
      };
    },
    ["port", "finding"],
  );
  const netdev = value?.port?.netdev ?? "";
  const { samples, error: liveError } = useSamples(node, device, port, netdev);
  const one = value?.port;
  const rate = one?.rate_bps === undefined ? undefined : Number(one.rate_bps);
  return (
    <>
      <nav class="crumbs" aria-label="Path">
        <a href={hashOf(["nodes"])}>Nodes</a> / <a href={hashOf(["nodes", node])}>{node}</a> /{" "}
        {device}/{port}
      </nav>
      <h1>
        {node}/{device}/{port} {one && <PortState device={one} />}
      </h1>
      <LoadError error={error ?? liveError} />
      {value && !one && (
        <Empty>
          The node has no port {device}/{port}.
        </Empty>
      )}
      {one && (
        <Facts
          rows={[
            ["Rail", <Value text={count(one.rail)} why="not a fabric port" />],
            ["Rate", <Value text={bitRate(rate)} />],
            ["Protocol", word(one.protocol, "PROTOCOL")],
            ["Physical state", word(one.physical_state, "PHYSICAL_STATE")],
            ["Path MTU", <Value text={count(one.active_mtu_bytes)} />],
            ["Netdev", <Value text={one.netdev || MISSING} why="no netdev" />],
            ["Netdev MTU", <Value text={count(one.netdev_mtu_bytes)} why="no netdev" />],
            [
              "PFC priorities",
              <Value text={priorities(one.pfc_enabled_mask)} why="DCB was not read" />,
            ],
            ["Trust", <Value text={word(one.trust, "TRUST")} why="DCB was not read" />],
            [
              "GID",
              <>
                {one.gid ? <code>{one.gid}</code> : <Value text={MISSING} why="no usable GID" />}{" "}
                {one.gid_index !== undefined && `index ${one.gid_index}`}
              </>,
            ],
            [
              "Leaf",
              <Value
                text={[one.leaf, one.leaf_port].filter(Boolean).join(" ") || MISSING}
                why="no LLDP neighbor and no topology file"
              />,
            ],
            ["Adapter", `${one.driver} ${one.firmware}`],
            ["PCI address", <Value text={one.pci_address || MISSING} why="no PCI device" />],
          ]}
        />
      )}
      <Panel title="Live, this page">
        <Charts
          seconds={300}
          times={samples.map((sample) => sample.at)}
          valuesOf={(name) => liveRates(samples, name)}
          empty="Waiting for the second sample."
        />
      </Panel>
      <Panel title="Last hour, 30 s each">
        <HistoryPanel node={node} device={device} port={port} />
      </Panel>
      <Panel title="Findings">
        <FindingTable findings={value?.findings ?? []} empty="No finding about this port." />
      </Panel>
      <Panel title="Counters">
        <Counters samples={samples} />
      </Panel>
    </>
  );
}
