// Counters of a port from snapshots, and their rates. Pure. A rate that is not known is absent.
import type { CounterHistory, CounterSet } from "./types";

export interface PortCounter {
  name: string; // Vendor-neutral if it has one
  unit: string;
  value: number;
  saturated: boolean;
}

// Of the port, its device and its netdev; the first counter of a name counts.
export function countersOf(
  sets: CounterSet[],
  device: string,
  port: number,
  netdev: string,
): PortCounter[] {
  const found = new Map<string, PortCounter>();
  const order = [
    sets.filter((set) => set.device === device && set.port === port),
    sets.filter((set) => set.device === device && set.port === 0),
    sets.filter((set) => set.device === "" && netdev !== "" && set.netdev === netdev),
  ];
  for (const set of order.flat())
    for (const counter of set.counters) {
      const name = counter.neutral ?? counter.name;
      if (!found.has(name))
        found.set(name, {
          name,
          unit: counter.unit,
          value: Number(counter.value),
          saturated: counter.saturated,
        });
    }
  return [...found.values()];
}

// Increase per second between two samples. Not known: the counter is new, decreased or is saturated.
export function rateOf(
  before: PortCounter | undefined,
  after: PortCounter,
  seconds: number,
): number | undefined {
  if (!before || seconds <= 0 || after.saturated || before.saturated || after.value < before.value)
    return undefined;
  return (after.value - before.value) / seconds;
}

export interface History {
  times: number[]; // Seconds since 1970
  series: Map<string, (number | null)[]>;
}

export function historyOf(history: CounterHistory, device: string, port: number): History {
  const times = history.ended_at.map((at) => Date.parse(at) / 1000);
  const series = new Map<string, (number | null)[]>();
  for (const one of history.ports.filter((other) => other.device === device && other.port === port))
    for (const { name, windows, per_second } of one.series) {
      const values: (number | null)[] = times.map(() => null);
      windows.forEach((window, index) => (values[window] = per_second[index] ?? null));
      series.set(name, values);
    }
  return { times, series };
}

// Samples of one page, newest last.
export interface Sample {
  at: number; // Seconds
  counters: Map<string, PortCounter>;
}

export const SAMPLES_MAX = 180;

// Adds a sample, unless the agent has not sent a new one.
export function addSample(samples: Sample[], sample: Sample): Sample[] {
  const last = samples[samples.length - 1];
  if (last && sample.at <= last.at) return samples;
  return [...samples, sample].slice(-SAMPLES_MAX);
}

export function liveRates(samples: Sample[], name: string): (number | null)[] {
  return samples.map((sample, index) => {
    const after = sample.counters.get(name);
    const before = index === 0 ? undefined : samples[index - 1];
    if (!after || !before) return null;
    return rateOf(before.counters.get(name), after, sample.at - before.at) ?? null;
  });
}

interface PortName {
  device: string;
  port: number;
  netdev: string;
}

// Counters of several ports, by "mlx5_0/1 name".
export function portCounters(sets: CounterSet[], ports: PortName[]): Map<string, PortCounter> {
  const all = new Map<string, PortCounter>();
  for (const { device, port, netdev } of ports)
    for (const counter of countersOf(sets, device, port, netdev))
      all.set(`${device}/${port} ${counter.name}`, counter);
  return all;
}

// As in `fabricctl top`
const CONGESTION = ["cnp_rx_packets", "ecn_marked_rx_packets"];
const ERRORS = [
  "symbol_errors",
  "link_error_recoveries",
  "link_down_events",
  "rx_errors",
  "tx_errors",
  "rx_discards",
  "tx_discards",
  "icrc_errors",
  "ack_timeout",
  "retransmitted_packets",
  "out_of_buffer",
];

export interface PortRates {
  sent: number | undefined; // Bytes per second
  received: number | undefined;
  congestion: number | undefined; // Events per second
  errors: number | undefined;
}

// From the last two samples of portCounters(). A sum of the counters that the port has; absent if it
// has none or no rate is known.
export function portRates(samples: Sample[], port: string): PortRates {
  const sum = (names: string[]) => {
    const known = names
      .map((name) => liveRates(samples.slice(-2), `${port} ${name}`).pop())
      .filter((rate): rate is number => rate !== null && rate !== undefined);
    return known.length === 0 ? undefined : known.reduce((total, rate) => total + rate, 0);
  };
  return {
    sent: sum(["rdma_tx_bytes"]),
    received: sum(["rdma_rx_bytes"]),
    congestion: sum(CONGESTION),
    errors: sum(ERRORS),
  };
}

export interface Named {
  label: string;
  values: (number | null)[];
}

// The lines with the largest sums, in their order, and the number of the others that have values.
export function busiest<T extends Named>(lines: T[], max: number): { lines: T[]; omitted: number } {
  const known = lines.filter(({ values }) => values.some((value) => value !== null));
  const sum = ({ values }: T) => values.reduce<number>((total, value) => total + (value ?? 0), 0);
  const kept = new Set([...known].sort((a, b) => sum(b) - sum(a)).slice(0, max));
  return { lines: known.filter((line) => kept.has(line)), omitted: known.length - kept.size };
}
