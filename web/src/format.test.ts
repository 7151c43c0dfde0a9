import { describe, expect, it } from "vitest";
import {
  age,
  axisTime,
  bitRate,
  filterOf,
  labelsText,
  microseconds,
  names,
  nodeEventText,
  parseDuration,
  percent,
  priorities,
  scaled,
  severityRank,
  word,
} from "./format";

describe("missing values", () => {
  it("are a dash and never 0", () => {
    for (const text of [
      scaled(undefined, "B"),
      bitRate(NaN),
      microseconds(undefined),
      age(undefined, 0),
      age("x", 0),
      priorities(undefined),
      percent(0, 0),
      word("", "X"),
      word("X_UNSPECIFIED", "X"),
    ])
      expect(text).toBe("–");
  });
});

describe("numbers", () => {
  it("have three digits and a unit", () => {
    expect(bitRate(400e9)).toBe("400 Gb/s");
    expect(bitRate(99.96e9)).toBe("100.0 Gb/s");
    expect(scaled(999.9, "B")).toBe("1.00 kB");
    expect(scaled(0, "/s")).toBe("0 /s");
    expect(microseconds(2.345)).toBe("2.35 µs");
    expect(microseconds(2345)).toBe("2.35 ms");
  });
  it("never round a part to the whole or to nothing", () => {
    expect(percent(9999, 10000)).toBe("> 99.9 %");
    expect(percent(1, 10000)).toBe("< 0.1 %");
    expect(percent(10, 10)).toBe("100 %");
    expect(percent(0, 10)).toBe("0 %");
  });
  it("list labels by their keys", () => {
    expect(labelsText({ rack: "r12", pool: "h100", spare: "" })).toBe("pool=h100, rack=r12, spare=");
    expect(labelsText({})).toBe("");
    expect(labelsText(undefined)).toBe("");
  });
  it("tell a change of labels from a change of the state of a node", () => {
    const lost = { state: "NODE_STATE_LOST", state_since: "2026-11-21T01:00:00Z", lost_reason: "power" };
    expect(nodeEventText("2026-11-21T01:00:00Z", lost)).toBe("lost: power");
    const labelled = { ...lost, labels: { pool: "h100" } };
    expect(nodeEventText("2026-11-21T02:00:00Z", labelled)).toBe("has the labels pool=h100");
    expect(nodeEventText("2026-11-21T02:00:00Z", lost)).toBe("has the labels (none)");
  });
  it("list the priorities of a mask", () => {
    expect(priorities(0)).toBe("none");
    expect(priorities(0b11000)).toBe("3, 4");
  });
});

it("ticks of a time axis have no date and 24 hours", () => {
  const at = new Date(2026, 10, 24, 21, 6, 30).getTime() / 1000;
  expect(axisTime(at, 60)).toBe("21:06");
  expect(axisTime(at, 30)).toBe("21:06:30");
});

describe("what a person types", () => {
  it("is a duration", () => {
    expect(parseDuration("90s")).toBe(90);
    expect(parseDuration(" 4 h ")).toBe(14400);
    expect(parseDuration("2d")).toBe(172800);
    expect(parseDuration("soon")).toBeUndefined();
    expect(parseDuration("-1h")).toBeUndefined();
  });
  it("is a filter of the API, or text in a field", () => {
    expect(filterOf("state=lost", "name")).toBe("state=lost");
    expect(filterOf(" gpu-1 ", "name")).toBe('name=~".*gpu-1.*"');
    expect(filterOf("a.b", "name")).toBe('name=~".*a\\\\.b.*"');
    expect(filterOf("", "name")).toBe("");
  });
  it("is a list of names", () => expect(names("n1, n2\nn3 ,")).toEqual(["n1", "n2", "n3"]));
});

it("sorts an unknown severity last", () => {
  expect(severityRank("SEVERITY_CRITICAL")).toBeLessThan(severityRank("SEVERITY_INFO"));
  expect(severityRank("SEVERITY_NEW")).toBeGreaterThan(severityRank("SEVERITY_INFO"));
});
