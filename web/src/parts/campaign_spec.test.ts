import { expect, test } from "vitest";
import { specOf } from "./campaign_spec";

const form = (fields: Record<string, string>) => {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.set(name, value);
  return data;
};

test("a preset chooses kinds and pattern", () => {
  expect(specOf(form({ nodes: "n1, n2", rails: "0 3", preset: "QUICK", pattern: "RING" }))).toEqual({
    nodes: ["n1", "n2"],
    rails: [0, 3],
    preset: "CAMPAIGN_PRESET_QUICK",
  });
});

test("without a preset, the fields choose them", () => {
  expect(specOf(form({ pattern: "MANY_TO_ONE", hub: "n1", ud_ping: "on" }))).toEqual({
    nodes: [],
    rails: [],
    probes: [{ ud_ping: {} }],
    pattern: "CAMPAIGN_PATTERN_MANY_TO_ONE",
    hub: "n1",
    until_decided: false,
  });
});

test("incast has one kind", () => {
  expect(specOf(form({ pattern: "INCAST", hub: "n1" })).probes).toEqual([{ incast: {} }]);
});

test("GPU memory and a traffic class can be chosen, also with a preset", () => {
  const spec = specOf(
    form({ pattern: "RING", gpu_memory: "on", dscp: "24", service_level: "0", compare_default: "on" }),
  );
  expect(spec.probes).toEqual([{ gpu_memory: {} }]);
  expect(spec.class_choice).toEqual({ traffic_class: 98, service_level: 0, compare_default: true });
  expect(specOf(form({ preset: "QUICK", dscp: "0" })).class_choice).toEqual({ traffic_class: 0 });
  expect(specOf(form({ preset: "QUICK", dscp: " " }))).not.toHaveProperty("class_choice");
});

test("wrong input is named", () => {
  expect(() => specOf(form({ preset: "QUICK", dscp: "64" }))).toThrow(
    'DSCP: expected a number from 0 to 63, saw "64"',
  );
  expect(() => specOf(form({ preset: "QUICK", service_level: "-1" }))).toThrow(
    'Service level: expected a number from 0 to 15, saw "-1"',
  );
  expect(() => specOf(form({ rails: "0,x" }))).toThrow('Rails: expected numbers, saw "x"');
  expect(() => specOf(form({ pattern: "RING" }))).toThrow("Measures: expected at least one");
});
