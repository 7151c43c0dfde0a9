// Results of a campaign in the binary form of the API (docs/WEB.md). The parser is pure.
import { address, request } from "../api";
import type { ProbePort } from "../types";

export const MEASURES = { latency: 1, bandwidth: 2, ping: 3, path_mtu: 4, gpu_memory: 5 } as const;
export const RESULTS_TYPE = "application/vnd.fabricd.results";

const FAILURES = [
  "",
  "ok",
  "refused",
  "unreachable",
  "setup failed",
  "timed out",
  "failed",
  "cancelled",
];
// A value below 0 is the number of the status of a probe that failed.
export const failureOf = (value: number): string =>
  value < 0 ? (FAILURES[-value] ?? "failed") : "";

export class Cells {
  size = 0;
  from = new Uint32Array(1024);
  to = new Uint32Array(1024);
  value = new Float32Array(1024);

  reserve(more: number): void {
    let capacity = this.from.length;
    if (this.size + more <= capacity) return;
    while (capacity < this.size + more) capacity *= 2;
    const grown = <A extends Uint32Array | Float32Array>(old: A, made: A): A => (
      made.set(old),
      made
    );
    this.from = grown(this.from, new Uint32Array(capacity));
    this.to = grown(this.to, new Uint32Array(capacity));
    this.value = grown(this.value, new Float32Array(capacity));
  }
}

export interface Results {
  ports: ProbePort[];
  cells: Map<number, Cells>; // By measure
  complete: boolean;
}

const BLOCK_BYTES = 12;
const CELL_BYTES = 12;

// Feed it bytes as they come.
export class ResultsParser {
  readonly results: Results = { ports: [], cells: new Map(), complete: false };
  private rest = new Uint8Array(0);

  feed(bytes: Uint8Array): void {
    const all = new Uint8Array(this.rest.length + bytes.length);
    all.set(this.rest);
    all.set(bytes, this.rest.length);
    const view = new DataView(all.buffer);
    let at = 0;
    while (at + BLOCK_BYTES <= all.length) {
      const [type, measure, count] = [0, 4, 8].map((offset) =>
        view.getUint32(at + offset, true),
      ) as [number, number, number];
      const body = type === 1 ? count : type === 2 ? count * CELL_BYTES : 0;
      if (at + BLOCK_BYTES + body > all.length) break;
      this.take(type, measure, count, view, at + BLOCK_BYTES);
      at += BLOCK_BYTES + body;
    }
    this.rest = all.slice(at);
  }

  private take(type: number, measure: number, count: number, view: DataView, at: number): void {
    if (type === 1) {
      const text = new TextDecoder().decode(new Uint8Array(view.buffer, at, count));
      this.results.ports.push(...(JSON.parse(text) as ProbePort[]));
    } else if (type === 2) {
      const cells = this.results.cells.get(measure) ?? new Cells();
      this.results.cells.set(measure, cells);
      cells.reserve(count);
      for (let i = 0; i < count; ++i) {
        const place = at + i * CELL_BYTES;
        cells.from[cells.size] = view.getUint32(place, true);
        cells.to[cells.size] = view.getUint32(place + 4, true);
        cells.value[cells.size++] = view.getFloat32(place + 8, true);
      }
    } else if (type === 3) {
      this.results.complete = true;
    } else {
      throw new Error(`results: expected a block of type 1 to 3, saw ${type}`);
    }
  }
}

// `filter`: of the API. An answer that was cut has complete = false.
export async function readResults(
  id: string,
  filter: string,
  signal: AbortSignal,
  onProgress: (cells: number) => void = () => undefined,
): Promise<Results> {
  const response = await request(
    address(`/v1/campaigns/${encodeURIComponent(id)}/results`, { filter }),
    { headers: { Accept: RESULTS_TYPE }, signal },
  );
  const parser = new ResultsParser();
  const reader = response.body!.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      parser.feed(value);
      onProgress([...parser.results.cells.values()].reduce((sum, cells) => sum + cells.size, 0));
    }
  } catch (error) {
    if (signal.aborted || parser.results.cells.size === 0) throw error;
  }
  return parser.results;
}

// Of the values that were measured. Undefined: none.
export function quantiles(values: Float32Array, size: number, at: number[]): number[] | undefined {
  const step = Math.max(1, Math.floor(size / 20_000));
  const known: number[] = [];
  for (let i = 0; i < size; i += step) if (values[i]! >= 0) known.push(values[i]!);
  if (known.length === 0) return undefined;
  known.sort((a, b) => a - b);
  return at.map((part) => known[Math.min(known.length - 1, Math.floor(part * known.length))]!);
}

export interface WorstPair {
  from: number;
  to: number;
  value: number;
  median: number;
  failed: string; // Why; empty: it did not fail.
}

// A larger bandwidth or MTU is better; of the others a smaller value.
export const largerIsBetter = (measure: number): boolean =>
  measure === MEASURES.bandwidth ||
  measure === MEASURES.path_mtu ||
  measure === MEASURES.gpu_memory;

// Failed pairs first, then those that are worst against the median.
export function worstPairs(results: Results, measure: number, max: number): WorstPair[] {
  const cells = results.cells.get(measure);
  if (!cells) return [];
  const median = quantiles(cells.value, cells.size, [0.5])?.[0] ?? NaN;
  const sign = largerIsBetter(measure) ? -1 : 1;
  const indexes: number[] = [];
  for (let i = 0; i < cells.size; ++i) if (!Number.isNaN(cells.value[i])) indexes.push(i);
  const rank = (i: number) => (cells.value[i]! < 0 ? Infinity : sign * cells.value[i]!);
  indexes.sort((a, b) => (rank(a) === rank(b) ? 0 : rank(b) - rank(a)));
  return indexes
    .slice(0, max)
    .map((i) => ({
      from: cells.from[i]!,
      to: cells.to[i]!,
      value: cells.value[i]!,
      median,
      failed: failureOf(cells.value[i]!),
    }));
}
