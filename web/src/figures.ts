// Figures of the past runs of a schedule: the newest against the median of those before. Pure.
import type { FigureSeries } from "./types";

export interface Trend {
  name: string;
  measure: "bandwidth" | "latency";
  newest: number;
  median: number | undefined; // Of the runs before; undefined: this was the first one
  change: number | undefined; // 0.1: 10 % worse
  values: number[];
}

function medianOf(values: number[]): number | undefined {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

function trendOf(name: string, measure: Trend["measure"], values: number[]): Trend | undefined {
  if (values.length === 0) return undefined;
  const newest = values[values.length - 1]!;
  const median = medianOf(values.slice(0, -1));
  const change =
    median === undefined || median <= 0 || newest <= 0
      ? undefined
      : measure === "latency"
        ? newest / median - 1
        : 1 - newest / median;
  return { name, measure, newest, median, change, values };
}

// The worst change first; figures without a past are last.
export function trendsOf(series: FigureSeries[]): Trend[] {
  const rank = (one: Trend) => one.change ?? -Infinity;
  return series
    .flatMap((one) => [
      trendOf(one.name, "bandwidth", one.bandwidth_bps),
      trendOf(one.name, "latency", one.latency_us),
    ])
    .filter((one) => one !== undefined)
    .sort((a, b) => rank(b) - rank(a));
}

// Points of a line in a box, oldest value at the left: "0,12 8,3". Fewer than two values: empty.
export function linePoints(values: number[], width: number, height: number): string {
  if (values.length < 2) return "";
  const least = Math.min(...values);
  const span = Math.max(...values) - least;
  return values
    .map((value, index) => {
      const x = (index * width) / (values.length - 1);
      const y = span === 0 ? height / 2 : height - ((value - least) * height) / span;
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    })
    .join(" ");
}
