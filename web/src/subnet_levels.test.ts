import { expect, it } from "vitest";
import { makeLevels } from "./subnet_levels";
import { readFields, readSnapshot, type SubnetNode } from "./subnet_snapshot";
import type { Finding, Suspect } from "./types";

// Two leaves with a host each, a spine, and a switch without cables.
const cable = (number: number, peer: number, peerPort: number) => ({ number, peer, peerPort });
const nodes: SubnetNode[] = [
  { name: "leaf-10", isSwitch: true, ports: [cable(1, 3, 1), cable(9, 2, 1)] },
  { name: "leaf-9", isSwitch: true, ports: [cable(9, 2, 2), cable(1, 4, 1), cable(2, -1, 0)] },
  { name: "spine", isSwitch: true, ports: [cable(1, 0, 9), cable(2, 1, 9)] },
  { name: "n1 mlx5_0", isSwitch: false, ports: [cable(1, 0, 1)] },
  { name: "n2 mlx5_0", isSwitch: false, ports: [cable(1, 1, 1)] },
  { name: "alone", isSwitch: true, ports: [] },
];

it("puts leaves below spines, by name", () => {
  const levels = makeLevels(nodes, [], []);
  expect(levels.map(({ title, switches }) => [title, ...switches.map(({ name }) => name)])).toEqual([
    ["Level 2, spines", "spine"],
    ["Leaves", "leaf-9", "leaf-10"],
    ["Switches without a path to a leaf", "alone"],
  ]);
  const leaf = levels[1]!.switches[0]!;
  expect([leaf.adapters, leaf.switches]).toEqual([1, 1]);
  expect(leaf.cables.map(({ port, peer }) => [port, peer])).toEqual([
    [1, "n2 mlx5_0"],
    [9, "spine"],
  ]);
});

it("marks findings and suspects of a switch and of the ends of a cable", () => {
  const about = (switch_name: string, affected: string[] = []) =>
    ({
      subject: { switch_name },
      affected: affected.map((name) => ({ switch_name: name })),
    }) as unknown as Finding;
  const [spines, leaves] = makeLevels(
    nodes,
    [about("leaf-9", ["leaf-9", "spine"])],
    [{ name: "leaf-10", leaf: "leaf-10" } as Suspect],
  );
  expect(spines!.switches[0]!.findings.length).toBe(1);
  expect(leaves!.switches.map((one) => [one.findings.length, one.suspects.length])).toEqual([
    [1, 0],
    [0, 1],
  ]);
});

const message = (field: number, bytes: number[]) => [field * 8 + 2, bytes.length, ...bytes];
const text = (value: string) => [...new TextEncoder().encode(value)];

it("reads names and cables of a snapshot, and skips other fields", () => {
  const port = [0x08, 3, 0x10, 2, 0x18, 0x81, 0x01, 0x41, 1, 2, 3, 4, 5, 6, 7, 8];
  const node = [0x09, 1, 2, 3, 4, 5, 6, 7, 8, 0x18, 2, ...message(8, text("leaf"))];
  const encoded = [...message(1, text("x")), ...message(11, [...node, ...message(11, port)])];
  expect(readSnapshot(new Uint8Array(encoded))).toEqual([
    { name: "leaf", isSwitch: true, ports: [{ number: 3, peer: 1, peerPort: 129 }] },
  ]);
});

it("rejects a snapshot that is cut", () => {
  for (const bytes of [[0x0a, 5, 1], [0x08], [0x09, 1], [0x0b, 0]])
    expect(() => readFields(new Uint8Array(bytes), () => undefined)).toThrow(/snapshot/);
});
