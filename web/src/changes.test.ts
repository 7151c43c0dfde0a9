import { describe, expect, it } from "vitest";
import { changesOf, type Stored } from "./changes";
import type { Campaign, Certificate, FabricEvent, Finding, NodeSummary } from "./types";

const at = (minute: number) => `2026-11-21T01:${String(minute).padStart(2, "0")}:00Z`;
const finding = (id: string, opened: number, resolved?: number) =>
  ({
    id,
    opened_at: at(opened),
    state: resolved === undefined ? "FINDING_STATE_OPEN" : "FINDING_STATE_RESOLVED",
    ...(resolved === undefined ? {} : { resolved_at: at(resolved) }),
  }) as Finding;
const event = (minute: number, fields: Partial<FabricEvent>): FabricEvent => ({
  sequence: String(minute),
  cursor: `a-${minute}`,
  at: at(minute),
  ...fields,
});
const node = (name: string, minute: number, state: string) =>
  event(minute, { node: { name, state, state_since: at(minute) } as NodeSummary });
const stored = (fields: Partial<Stored>): Stored => ({
  findings: [],
  campaigns: [],
  certificates: [],
  ...fields,
});

describe("changesOf", () => {
  it("lists what is stored where there are no events: fabricd has restarted", () => {
    const changes = changesOf(
      [],
      stored({
        findings: [finding("f1", 5, 20), finding("f2", 10)],
        campaigns: [{ id: "c1", started_at: at(1), ended_at: at(15) } as Campaign],
        certificates: [{ id: "cert-1", started_at: at(16), issued_at: at(17) } as Certificate],
      }),
    );
    expect(
      changes.map((one) => [
        one.at.slice(14, 16),
        one.event?.finding?.id ?? one.event?.campaign?.id ?? one.certificate?.id,
        one.event?.finding?.state,
      ]),
    ).toEqual([
      ["20", "f1", "FINDING_STATE_RESOLVED"],
      ["17", "cert-1", undefined],
      ["15", "c1", undefined],
      ["10", "f2", "FINDING_STATE_OPEN"],
      ["05", "f1", "FINDING_STATE_OPEN"],
    ]);
  });

  it("ignores the gap of a controller without events, which has no time", () => {
    const gap = { sequence: "0", cursor: "a-0", gap: { reason: "of another run" } } as FabricEvent;
    const changes = changesOf([gap], stored({ findings: [finding("f1", 5)] }));
    expect(changes.map((one) => one.key)).toEqual(["f1 FINDING_STATE_OPEN"]);
  });

  it("has each change once: stored ones only from before the oldest event", () => {
    const opened = finding("f2", 10);
    const changes = changesOf(
      [event(12, { gap: { reason: "x" } }), event(10, { finding: opened })],
      stored({ findings: [opened, finding("f1", 5, 11)] }),
    );
    // f1 resolved at 11 is an event if it was one; here it was not.
    expect(changes.map((one) => one.key)).toEqual(["a-12", "a-10", "f1 FINDING_STATE_OPEN"]);
  });

  it("writes a fleet that connects as one row, with other changes and states apart", () => {
    const up = "NODE_STATE_CONNECTED";
    const changes = changesOf(
      [
        node("n10", 9, up),
        node("n2", 8, up),
        node("n3", 7, "NODE_STATE_LOST"),
        node("n4", 6, up),
        event(5, { finding: finding("f1", 5) }),
        node("n1", 4, up),
      ],
      undefined,
    );
    expect(changes.map((one) => one.nodes?.names ?? one.event?.node?.name ?? one.key)).toEqual([
      ["n2", "n10"],
      "n3",
      "n4",
      "a-5",
      "n1",
    ]);
    expect(changes[0]!.at).toBe(at(9));
  });

  it("writes findings of one rule as one row, also between the nodes that they are about", () => {
    const opened = (id: string, rule: string, minute: number) =>
      event(minute, { finding: { ...finding(id, minute), rule } });
    const changes = changesOf(
      [
        opened("f3", "node_connected", 9),
        node("n3", 9, "NODE_STATE_LOST"),
        opened("f2", "node_connected", 8),
        opened("f9", "port_active", 8),
        node("n2", 8, "NODE_STATE_LOST"),
        opened("f1", "node_connected", 2),
      ],
      undefined,
    );
    expect(
      changes.map((one) => one.findings?.count ?? one.nodes?.names ?? one.event?.finding?.id),
    ).toEqual([2, ["n2", "n3"], "f9", "f1"]);
    expect(changes[0]!.findings).toEqual({
      rule: "node_connected",
      count: 2,
      state: "FINDING_STATE_OPEN",
    });
  });

  it("keeps findings apart that were opened before and after others were resolved", () => {
    const event_of = (id: string, minute: number, state: string) =>
      event(minute, { finding: { ...finding(id, minute), rule: "r", state } });
    const changes = changesOf(
      [
        event_of("f3", 9, "FINDING_STATE_OPEN"),
        event_of("f2", 9, "FINDING_STATE_RESOLVED"),
        event_of("f2", 8, "FINDING_STATE_OPEN"),
      ],
      undefined,
    );
    expect(changes.map((one) => one.event?.finding?.id)).toEqual(["f3", "f2", "f2"]);
  });

  it("does not join changes of labels, which have another time than the state", () => {
    const labels = (minute: number) =>
      event(minute, {
        node: { name: "n1", state: "NODE_STATE_CONNECTED", state_since: at(1) } as NodeSummary,
      });
    expect(changesOf([labels(3), labels(2)], undefined)).toHaveLength(2);
  });
});
