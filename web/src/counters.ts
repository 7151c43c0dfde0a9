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
