import { expect, it } from "vitest";
import {
  SAMPLES_MAX,
  addSample,
  busiest,
  countersOf,
  historyOf,
  liveRates,
  portCounters,
  portRates,
  rateOf,
  type PortCounter,
  type Sample,
} from "./counters";

const counter = (value: number, saturated = false): PortCounter => ({
  name: "c",
  unit: "events",
  value,
  saturated,
});
const sample = (at: number, value: number): Sample => ({
  at,
  counters: new Map([["c", counter(value)]]),
});

it("prefers the counter of the port over that of the netdev", () => {
  const of = (value: string, set: object) => ({
    device: "",
    port: 0,
    netdev: "",
    ...set,
    counters: [{ name: "x", neutral: "c", value, saturated: false, unit: "events" }],
  });
  const sets = [
    of("3", { netdev: "rail0" }),
    of("7", { device: "mlx5_0", port: 1 }),
    of("9", { device: "mlx5_1", port: 1 }),
  ];
  expect(countersOf(sets, "mlx5_0", 1, "rail0")).toEqual([counter(7)]);
  expect(countersOf(sets, "mlx5_2", 1, "rail0")).toEqual([counter(3)]);
});

it("has no rate across a reset, a saturated or a new counter", () => {
  expect(rateOf(counter(10), counter(30), 10)).toBe(2);
  expect(rateOf(counter(30), counter(10), 10)).toBeUndefined();
  expect(rateOf(counter(10), counter(30, true), 10)).toBeUndefined();
  expect(rateOf(undefined, counter(30), 10)).toBeUndefined();
});

it("takes a sample once and keeps a bounded number", () => {
  let samples: Sample[] = [];
  for (let i = 0; i < SAMPLES_MAX + 10; ++i) samples = addSample(samples, sample(i, i));
  expect(samples.length).toBe(SAMPLES_MAX);
  expect(addSample(samples, sample(5, 0))).toBe(samples);
  expect(liveRates([sample(1, 0), sample(3, 10)], "c")).toEqual([null, 5]);
});

it("leaves a gap where the history has no rate", () => {
  const history = historyOf(
    {
      ended_at: ["2026-01-01T00:00:00Z", "2026-01-01T00:00:30Z"],
      reason: "",
      ports: [{ device: "m", port: 1, series: [{ name: "c", windows: [1], per_second: [0] }] }],
    },
    "m",
    1,
  );
  expect(history.series.get("c")).toEqual([null, 0]);
});

it("adds the rates of each port of a node", () => {
  const ports = [
    { device: "mlx5_0", port: 1, netdev: "rail0" },
    { device: "mlx5_1", port: 1, netdev: "rail1" },
  ];
  const sets = (value: number) => [
    {
      device: "mlx5_0",
      port: 1,
      netdev: "",
      counters: [
        {
          name: "a",
          neutral: "rdma_tx_bytes",
          value: String(value),
          saturated: false,
          unit: "bytes",
        },
        {
          name: "b",
          neutral: "rx_discards",
          value: String(value),
          saturated: false,
          unit: "packets",
        },
        { name: "c", neutral: "tx_discards", value: "3", saturated: false, unit: "packets" },
      ],
    },
  ];
  const samples = [0, 100].map((value, at) => ({
    at: at * 10,
    counters: portCounters(sets(value), ports),
  }));
  expect(portRates(samples, "mlx5_0/1")).toEqual({
    sent: 10,
    received: undefined,
    congestion: undefined,
    errors: 10,
  });
  expect(portRates(samples, "mlx5_1/1").sent).toBeUndefined();
  expect(portRates(samples.slice(1), "mlx5_0/1").sent).toBeUndefined();
});

it("shows the busiest lines and counts the others", () => {
  const line = (label: string, values: (number | null)[]) => ({ label, values });
  const lines = [
    line("a", [1, null]),
    line("b", [null, null]),
    line("c", [5, 5]),
    line("d", [2, 2]),
  ];
  expect(busiest(lines, 2)).toEqual({ lines: [lines[2], lines[3]], omitted: 1 });
  expect(busiest(lines, 4).omitted).toBe(0);
});
