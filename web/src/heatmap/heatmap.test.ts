import { describe, expect, it } from "vitest";
import {
  badness,
  makeMatrix,
  orderOf,
  samePlaces,
  worstPorts,
  type Choices,
} from "./matrix";
import { EMPTY, FAILED, STEPS, makePalette, stepOf } from "./palette";
import { ResultsParser, failureOf, worstPairs, type Results } from "./results";
import { clampView, fitScale, reveal, zoomAt } from "./view";

// One block of the binary form.
function block(type: number, measure: number, count: number, body = new Uint8Array(0)): Uint8Array {
  const bytes = new Uint8Array(12 + body.length);
  const view = new DataView(bytes.buffer);
  [type, measure, count].forEach((number, index) => view.setUint32(4 * index, number, true));
  bytes.set(body, 12);
  return bytes;
}
function cells(...rows: [number, number, number][]): Uint8Array {
  const bytes = new Uint8Array(12 * rows.length);
  const view = new DataView(bytes.buffer);
  rows.forEach(([from, to, value], index) => {
    view.setUint32(12 * index, from, true);
    view.setUint32(12 * index + 4, to, true);
    view.setFloat32(12 * index + 8, value, true);
  });
  return block(2, 1, rows.length, bytes);
}
const ports = (...names: string[]) => {
  const text = JSON.stringify(names.map((node) => ({ node, device: "m", port: 1, rail: 0 })));
  const padded = text.padEnd(Math.ceil(text.length / 4) * 4);
  return block(1, 0, padded.length, new TextEncoder().encode(padded));
};
const join = (...parts: Uint8Array[]) => new Uint8Array(parts.flatMap((part) => [...part]));
const BYTES = join(
  ports("n10", "n2"),
  cells([0, 1, 2]),
  ports("n3"),
  cells([0, 2, 4], [1, 2, -5]),
  block(3, 0, 0),
);

function parse(bytes: Uint8Array, step: number): Results {
  const parser = new ResultsParser();
  for (let at = 0; at < bytes.length; at += step) parser.feed(bytes.slice(at, at + step));
  return parser.results;
}
const CHOICES: Choices = { order: "rail", rail: undefined, mirror: false };

describe("results", () => {
  it("are the same in pieces of any size", () => {
    for (const step of [1, 7, 12, 1000]) {
      const results = parse(BYTES, step);
      expect(results.ports.map((port) => port.node)).toEqual(["n10", "n2", "n3"]);
      expect(results.cells.get(1)!.size).toBe(3);
      expect(results.complete).toBe(true);
    }
  });
  it("are incomplete without the last block", () =>
    expect(parse(BYTES.slice(0, -12), 50).complete).toBe(false));
  it("refuse an unknown block", () => expect(() => parse(block(9, 0, 0), 50)).toThrow("saw 9"));
  it("list failed pairs first", () => {
    const worst = worstPairs(parse(BYTES, 50), 1, 2);
    expect(worst.map((pair) => pair.failed)).toEqual(["timed out", ""]);
    expect(worst[1]!.value).toBe(4);
    expect(failureOf(2)).toBe("");
  });
});

describe("matrix", () => {
  const results = parse(BYTES, 50);
  it("has the values where the order puts them, and no result is not 0", () => {
    const matrix = makeMatrix(results, 1, () => "", CHOICES)!;
    expect(matrix.ports.map((port) => port.node)).toEqual(["n2", "n3", "n10"]);
    expect(matrix.values[2 * 3 + 0]).toBe(2);
    expect(matrix.values[0 * 3 + 2]).toBeNaN();
    expect(matrix.mirrored.some((one) => one === 1)).toBe(false);
  });
  it("fills both directions and marks the copied one", () => {
    const matrix = makeMatrix(results, 1, () => "", { ...CHOICES, mirror: true })!;
    expect(matrix.values[0 * 3 + 2]).toBe(2);
    expect([matrix.mirrored[2], matrix.mirrored[6]]).toEqual([1, 0]);
    expect(matrix.values[0]).toBeNaN();
  });
  it("puts the worst port first", () => {
    expect(badness(results, 1)[2]).toBeGreaterThan(badness(results, 1)[0]!);
    expect(results.ports[orderOf(results, 1, "blame", () => "", undefined)[0]!]!.node).toBe("n3");
    expect(worstPorts(results, 1, undefined, 1)[0]!.port.node).toBe("n3");
  });
  it("is empty for a rail without ports", () =>
    expect(makeMatrix(results, 1, () => "", { ...CHOICES, rail: 7 })!.size).toBe(0));
  it("has its cells at the same places when it is read again", () => {
    const matrix = makeMatrix(results, 1, () => "", CHOICES)!;
    const again = { ...matrix, ports: matrix.ports.map((port) => ({ ...port })) };
    expect(samePlaces(matrix, again)).toBe(true);
    again.ports.reverse();
    expect(samePlaces(matrix, again)).toBe(false);
    expect(samePlaces(matrix, { ...again, size: 0, ports: [] })).toBe(false);
  });
});

describe("palette", () => {
  it("gets lighter from step to step, so that it needs no colour vision", () => {
    const palette = makePalette(false);
    const light = (rgba: number) =>
      0.2126 * (rgba & 255) + 0.7152 * ((rgba >> 8) & 255) + 0.0722 * ((rgba >> 16) & 255);
    for (let step = 8; step < STEPS; step += 8)
      expect(light(palette[step]!)).toBeGreaterThan(light(palette[step - 8]!));
  });
  it("has own colours for failed and missing cells", () => {
    expect(stepOf(-3, 0, 1)).toBe(FAILED);
    expect(stepOf(NaN, 0, 1)).toBe(EMPTY);
    expect([stepOf(0, 0, 1), stepOf(5, 0, 1)]).toEqual([0, STEPS - 1]);
  });
});

describe("view", () => {
  it("stays within the matrix", () => {
    expect(clampView({ x: -5, y: 990, scale: 10 }, 1000, 500)).toEqual({ x: 0, y: 950, scale: 10 });
    expect(clampView({ x: 7, y: 7, scale: 0 }, 1000, 500)).toEqual({
      x: 0,
      y: 0,
      scale: fitScale(1000, 500),
    });
  });
  it("zooms around the pointer", () => {
    const before = { x: 100, y: 100, scale: 2 };
    const after = zoomAt(before, 2, 50, 50, 1000, 500);
    expect(after.x + 50 / after.scale).toBeCloseTo(before.x + 50 / before.scale);
  });
  it("moves to a cell outside", () => {
    expect(reveal({ x: 0, y: 0, scale: 10 }, 0, 70, 1000, 500).x).toBe(21);
    expect(reveal({ x: 30, y: 30, scale: 10 }, 5, 40, 1000, 500)).toEqual({
      x: 30,
      y: 5,
      scale: 10,
    });
  });
});
