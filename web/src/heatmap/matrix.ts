// Dense matrix of one measure in the order that a person chose. Pure.
import { byName } from "../format";
import type { ProbePort } from "../types";
import { largerIsBetter, quantiles, type Results } from "./results";

export type Order = "rail" | "leaf" | "blame";
export const PORTS_MAX = 4096; // 64 MiB of values; more: choose a rail.

export interface Matrix {
  size: number;
  ports: ProbePort[]; // In order
  leaves: string[]; // Of each port; empty: unknown
  values: Float32Array; // By row (from), then column (to). NaN: no result; below 0: failed
  low: number; // Ends of the colour scale; NaN: nothing was measured
  high: number;
  mirrored: Uint8Array; // 1: measured in the other direction
  boundaries: number[]; // Where the leaf or rail of a port differs from that of the one before
}

export const portName = (port: ProbePort): string => `${port.node}/${port.device}/${port.port}`;

// Whether both have the same ports in the same order, so that a cell keeps its place.
export const samePlaces = (a: Matrix, b: Matrix): boolean =>
  a.size === b.size &&
  a.ports.every((port, index) => portName(port) === portName(b.ports[index]!));

// Badness of each port: the mean of its values against the median; failures count as the worst.
export function badness(results: Results, measure: number): Float64Array {
  const sums = new Float64Array(results.ports.length);
  const numbers = new Float64Array(results.ports.length);
  const cells = results.cells.get(measure);
  if (!cells) return sums;
  const median = quantiles(cells.value, cells.size, [0.5])?.[0] ?? 1;
  const larger = largerIsBetter(measure);
  for (let i = 0; i < cells.size; ++i) {
    const value = cells.value[i]!;
    if (Number.isNaN(value)) continue;
    const bad = value < 0 ? 10 : larger ? median / Math.max(value, median / 10) : value / median;
    for (const port of [cells.from[i]!, cells.to[i]!]) {
      sums[port]! += bad;
      numbers[port]! += 1;
    }
  }
  return sums.map((sum, port) => (numbers[port]! > 0 ? sum / numbers[port]! : 0));
}

export interface WorstPort {
  port: ProbePort;
  against: number; // How much worse than the median; 1 is as the median
}

export function worstPorts(
  results: Results,
  measure: number,
  rail: number | undefined,
  max: number,
): WorstPort[] {
  const bad = badness(results, measure);
  return results.ports
    .map((port, index) => ({ port, against: bad[index]! }))
    .filter(({ port, against }) => against > 0 && (rail === undefined || port.rail === rail))
    .sort((a, b) => b.against - a.against)
    .slice(0, max);
}

export function orderOf(
  results: Results,
  measure: number,
  order: Order,
  leafOf: (port: ProbePort) => string,
  rail: number | undefined,
): number[] {
  const bad = order === "blame" ? badness(results, measure) : undefined;
  const chosen = results.ports
    .map((_, index) => index)
    .filter((index) => rail === undefined || results.ports[index]!.rail === rail);
  return chosen.sort((a, b) => {
    const [left, right] = [results.ports[a]!, results.ports[b]!];
    if (bad && bad[a] !== bad[b]) return bad[b]! - bad[a]!;
    const byLeaf = () => byName(leafOf(left), leafOf(right));
    return (
      (order === "leaf"
        ? byLeaf() || left.rail - right.rail
        : left.rail - right.rail || byLeaf()) || byName(portName(left), portName(right))
    );
  });
}

export interface Choices {
  order: Order;
  rail: number | undefined; // Undefined: all
  mirror: boolean; // A pair that was probed in one direction alone fills both cells.
}

export function makeMatrix(
  results: Results,
  measure: number,
  leafOf: (port: ProbePort) => string,
  { order, rail, mirror }: Choices,
): Matrix | undefined {
  const places = orderOf(results, measure, order, leafOf, rail);
  const size = places.length;
  if (size > PORTS_MAX) return undefined;
  const values = new Float32Array(size * size).fill(NaN);
  const place = new Int32Array(results.ports.length).fill(-1);
  places.forEach((port, index) => (place[port] = index));
  const cells = results.cells.get(measure);
  for (let i = 0; cells && i < cells.size; ++i) {
    const row = place[cells.from[i]!]!;
    const column = place[cells.to[i]!]!;
    if (row >= 0 && column >= 0) values[row * size + column] = cells.value[i]!;
  }
  const mirrored = new Uint8Array(size * size);
  for (let row = 0; mirror && row < size; ++row)
    for (let column = row + 1; column < size; ++column) {
      const [one, other] = [row * size + column, column * size + row];
      const [missing, known] = Number.isNaN(values[one]) ? [one, other] : [other, one];
      if (!Number.isNaN(values[missing]) || Number.isNaN(values[known])) continue;
      values[missing] = values[known]!;
      mirrored[missing] = 1;
    }
  const [low = NaN, high = NaN] = (cells && quantiles(cells.value, cells.size, [0.01, 0.99])) ?? [];
  const ports = places.map((index) => results.ports[index]!);
  const leaves = ports.map(leafOf);
  const boundaries = ports
    .map((_, index) => index)
    .filter(
      (index) =>
        order !== "blame" &&
        index > 0 &&
        (leaves[index] !== leaves[index - 1] || ports[index]!.rail !== ports[index - 1]!.rail),
    );
  return {
    size,
    ports,
    leaves,
    values,
    mirrored,
    low,
    high: high > low ? high : low + Math.abs(low) * 0.01 || 1,
    boundaries,
  };
}
