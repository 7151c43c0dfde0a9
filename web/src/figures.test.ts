import { expect, test } from "vitest";
import { linePoints, trendsOf } from "./figures";

test("the figure that became worse most is first", () => {
  const trends = trendsOf([
    { name: "n1", bandwidth_bps: [100, 100, 90], latency_us: [2, 2, 3] },
    { name: "n2", bandwidth_bps: [100], latency_us: [] },
  ]);
  expect(trends.map((one) => [one.name, one.measure])).toEqual([
    ["n1", "latency"],
    ["n1", "bandwidth"],
    ["n2", "bandwidth"],
  ]);
  expect(trends[0]!.change).toBeCloseTo(0.5);
  expect(trends[1]!.change).toBeCloseTo(0.1);
  expect(trends[2]).toMatchObject({ newest: 100, median: undefined, change: undefined });
});

test("the newest figure is not in the median", () => {
  expect(trendsOf([{ name: "n1", bandwidth_bps: [10, 20, 5], latency_us: [] }])[0]!.median).toBe(15);
});

test("a figure of zero has no change, not an infinite one", () => {
  expect(trendsOf([{ name: "n1", bandwidth_bps: [0, 5], latency_us: [] }])[0]!.change).toBe(undefined);
});

test("lines fill the box", () => {
  expect(linePoints([1, 3, 2], 10, 4)).toBe("0.0,4.0 5.0,0.0 10.0,2.0");
  expect(linePoints([2, 2], 10, 4)).toBe("0.0,2.0 10.0,2.0");
  expect(linePoints([2], 10, 4)).toBe("");
});
