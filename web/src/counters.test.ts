import { expect, it } from "vitest";
import {
  SAMPLES_MAX,
  addSample,
  countersOf,
  historyOf,
  liveRates,
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
