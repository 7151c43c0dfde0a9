import { expect, it } from "vitest";
import { makeTopology } from "./topology";
import type { DeviceSummary, Finding, Suspect } from "./types";

const port = (node: string, rail: number, leaf: string, state = "PORT_STATE_ACTIVE") =>
  ({ node, device: `m${rail}`, port: 1, rail, leaf, state }) as DeviceSummary;
const suspect = (fields: Partial<Suspect>) =>
  ({ kind: "", name: "", node: "", device: "", port: 0, leaf: "", ...fields }) as Suspect;
const devices = [
  port("n1", 0, "leaf10"),
  port("n2", 0, "leaf9", "PORT_STATE_DOWN"),
  port("n1", 1, "leaf11"),
];

it("orders rails and leaves, and counts ports that are not active", () => {
  const { rails } = makeTopology(devices, [], []);
  expect(rails.map((rail) => rail.leaves.map((leaf) => leaf.name))).toEqual([
    ["leaf9", "leaf10"],
    ["leaf11"],
  ]);
  expect(rails[0]!.leaves[0]!.notActive).toBe(1);
});

it("marks each leaf of a host, the leaf of a port, and no other", () => {
  const { rails, spines, elsewhere } = makeTopology(
    devices,
    [],
    [
      suspect({ kind: "SUSPECT_KIND_HOST", node: "n1" }),
      suspect({ kind: "SUSPECT_KIND_PORT", node: "n2", device: "m0", port: 1 }),
      suspect({ kind: "SUSPECT_KIND_SPINE", name: "s" }),
      suspect({ kind: "SUSPECT_KIND_RAIL", rail: 1 }),
    ],
  );
  expect(rails.map((rail) => rail.leaves.map((leaf) => leaf.suspects.length))).toEqual([
    [1, 1],
    [1],
  ]);
  expect([spines.length, elsewhere.length]).toEqual([1, 1]);
});

it("marks the leaf of a named switch or cable, and lists a switch above as a spine", () => {
  const { rails, spines, elsewhere } = makeTopology(
    devices,
    [],
    [
      suspect({ kind: "SUSPECT_KIND_SWITCH", name: "switch leaf10", leaf: "leaf10" }),
      suspect({ kind: "SUSPECT_KIND_LINK", name: "cable leaf10 port 33 - s port 1", leaf: "leaf10" }),
      suspect({ kind: "SUSPECT_KIND_SWITCH", name: "switch s", leaf: "s" }),
      suspect({ kind: "SUSPECT_KIND_LINK", name: "cable s port 9 - core port 1", leaf: "s" }),
    ],
  );
  expect(rails.map((rail) => rail.leaves.map((leaf) => leaf.suspects.length))).toEqual([
    [0, 2],
    [0],
  ]);
  expect(spines.map((one) => one.name)).toEqual(["switch s"]);
  expect(elsewhere.map((one) => one.name)).toEqual(["cable s port 9 - core port 1"]);
});

it("marks the leaf of a finding about a port or a switch", () => {
  const finding = (subject: object) =>
    ({
      severity: "SEVERITY_ERROR",
      subject: { node: "", device: "", port: 0, switch_name: "", ...subject },
    }) as Finding;
  const { rails } = makeTopology(
    devices,
    [
      finding({ node: "n1", device: "m1", port: 1 }),
      finding({ switch_name: "leaf9" }),
      finding({ node: "n7" }),
    ],
    [],
  );
  expect(rails.map((rail) => rail.leaves.map((leaf) => leaf.findings.length))).toEqual([
    [1, 0],
    [1],
  ]);
});
