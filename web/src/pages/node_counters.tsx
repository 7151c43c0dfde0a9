// Live rates of all ports of a node, and their history.
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api";
import { addSample, busiest, historyOf, portCounters, portRates, type Sample } from "../counters";
import { MISSING, bitRate, scaled } from "../format";
import { Empty, LoadError, Loading, Value } from "../parts/basics";
import { Chart } from "../parts/chart";
import { LIVE_FIELDS } from "./port";
import { Table } from "../parts/table";
import { hashOf } from "../router";
import { useLoad } from "../session";
import type { CounterHistory, DeviceSummary, NodeSnapshot } from "../types";

const LIVE_MS = 3000;
const LINES_MAX = 4; // Colours of a chart

// The controller keeps no history of the bytes that a port receives.
const HISTORY: { title: string; name: string; bytes?: boolean }[] = [
  { title: "Sent", name: "rdma_tx_bytes", bytes: true },
  { title: "Packets received", name: "rdma_rx_packets" },
  { title: "ECN marks received", name: "ecn_marked_rx_packets" },
  { title: "Packets discarded on receive", name: "rx_discards" },
];

const nameOf = (one: DeviceSummary) => `${one.device}/${one.port}`;

// One sample of the node. Counters of all ports, by "mlx5_0/1 name".
function useNodeSamples(node: string, devices: DeviceSummary[]) {
  const [samples, setSamples] = useState<Sample[]>([]);
  const { value, error } = useLoad(
    `counters of ${node}`,
    (signal) =>
      get<{ snapshot?: NodeSnapshot; counters_at?: string }>(
        `/v1/nodes/${encodeURIComponent(node)}`,
        { fields: LIVE_FIELDS },
        signal,
      ),
    [],
    LIVE_MS,
  );
  const seen = useRef(node);
  useEffect(() => {
    if (!value) return;
    const taken = value.counters_at ?? value.snapshot?.taken_at;
    const at = taken === undefined ? Date.now() / 1000 : Date.parse(taken) / 1000;
    const before = seen.current === node ? samples : [];
    seen.current = node;
    const counters = portCounters(value.snapshot?.counters ?? [], devices);
    setSamples(addSample(before, { at, counters }));
  }, [value]);
  return { samples: samples.slice(-2), error };
}

function Rate({ value, bits = false }: { value: number | undefined; bits?: boolean }) {
  const text = value === undefined ? MISSING : bits ? bitRate(value * 8) : scaled(value, "/s");
  return <Value text={text} why="needs two samples of a counter that the node reports" />;
}

export function NodeRates({ node, devices }: { node: string; devices: DeviceSummary[] }) {
  const { samples, error } = useNodeSamples(node, devices);
  const rows = devices.map((one) => ({ one, rates: portRates(samples, nameOf(one)) }));
  return (
    <>
      <LoadError error={error} />
      <Table
        rows={rows}
        keyOf={({ one }) => nameOf(one)}
        caption="Rates of the ports"
        empty="The node has no RDMA port."
        name="rate"
        columns={[
          {
            title: "Port",
            unbroken: true,
            sort: ({ one }) => nameOf(one),
            cell: ({ one }) => (
              <a href={hashOf(["nodes", node, one.device, String(one.port)])}>{nameOf(one)}</a>
            ),
          },
          {
            title: "Sent",
            numeric: true,
            sort: ({ rates }) => rates.sent,
            cell: ({ rates }) => <Rate value={rates.sent} bits />,
          },
          {
            title: "Received",
            numeric: true,
            sort: ({ rates }) => rates.received,
            cell: ({ rates }) => <Rate value={rates.received} bits />,
          },
          {
            title: "Congestion",
            numeric: true,
            sort: ({ rates }) => rates.congestion,
            cell: ({ rates }) => <Rate value={rates.congestion} />,
          },
          {
            title: "Errors",
            numeric: true,
            sort: ({ rates }) => rates.errors,
            cell: ({ rates }) => <Rate value={rates.errors} />,
          },
        ]}
      />
      <p class="muted">
        Congestion: CNPs and ECN marks received. Errors: link errors, discards, retransmissions and
        timeouts. The page of a port has all counters.
      </p>
    </>
  );
}

export function NodeHistory({ node, devices }: { node: string; devices: DeviceSummary[] }) {
  const { value, error } = useLoad(
    `history of ${node}`,
    (signal) => get<CounterHistory>(`/v1/nodes/${encodeURIComponent(node)}/counters`, {}, signal),
    [],
    30_000,
  );
  if (!value) return <Loading error={error} />;
  const times = value.ended_at.map((at) => Date.parse(at) / 1000);
  const ports = devices.map((one) => ({
    label: nameOf(one),
    series: historyOf(value, one.device, one.port).series,
  }));
  const charts = HISTORY.map(({ title, name, bytes = false }) => ({
    title,
    bytes,
    ...busiest(
      ports.map(({ label, series }) => ({
        label,
        values: (series.get(name) ?? []).map((rate) => (rate === null || !bytes ? rate : rate * 8)),
      })),
      LINES_MAX,
    ),
  })).filter(({ lines }) => lines.length > 0);
  return (
    <>
      <LoadError error={error} />
      {value.reason !== "" && <p class="muted">Incomplete: {value.reason}</p>}
      {charts.length === 0 ? (
        <Empty>No rates yet. The first one is known 30 s after the counters arrive.</Empty>
      ) : (
        <div class="charts">
          {charts.map(({ title, bytes, lines, omitted }) => (
            <Chart
              key={title}
              title={omitted > 0 ? `${title}, the ${lines.length} busiest ports` : title}
              times={times}
              lines={lines}
              seconds={3600}
              format={(value) => (bytes ? bitRate(value) : scaled(value, "/s"))}
            />
          ))}
        </div>
      )}
    </>
  );
}
