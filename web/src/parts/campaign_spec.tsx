// Fields of a form that describe a campaign, and the CampaignSpec that they make.
import { useState } from "preact/hooks";
import { names } from "../format";
import { Field, text } from "./form";

const PATTERNS = [
  "ALL_PAIRS",
  "RANDOM_REGULAR",
  "RING",
  "SAME_LEAF",
  "SAME_POD",
  "ACROSS",
  "CROSS_RAIL",
  "WITHIN_NODE",
  "LOOPBACK",
  "CABLES",
  "ONE_TO_MANY",
  "MANY_TO_ONE",
  "INCAST",
];
const HUB_PATTERNS = ["ONE_TO_MANY", "MANY_TO_ONE", "INCAST"];
export const KINDS: [string, string][] = [
  ["rc_write_latency", "latency"],
  ["rc_write_bandwidth", "bandwidth"],
  ["ud_ping", "ping and loss"],
  ["path_mtu", "path MTU"],
  ["gpu_memory", "GPU memory"],
];
const PRESETS: [string, string][] = [
  ["", "choose below"],
  ["QUICK", "quick: is every port alive and fast?"],
  ["STANDARD", "standard: also packet loss on several paths"],
  ["THOROUGH", "thorough: all pairs, two sizes, reads, path MTU"],
];

const ECT0 = 2; // ECN can mark the packets, as those of jobs.
const DSCP_MAX = 63;
const SERVICE_LEVEL_MAX = 15;

export interface ClassChoice {
  traffic_class?: number;
  service_level?: number;
  compare_default?: boolean;
}

export interface Spec {
  nodes: string[];
  rails: number[];
  preset?: string;
  probes?: Record<string, object>[];
  pattern?: string;
  hub?: string;
  until_decided?: boolean;
  class_choice?: ClassChoice;
}

function numberOf(data: FormData, name: string, label: string, max: number): number | undefined {
  const value = text(data, name);
  if (value === "") return undefined;
  if (!/^\d+$/.test(value) || Number(value) > max)
    throw new Error(`${label}: expected a number from 0 to ${max}, saw "${value}"`);
  return Number(value);
}

// Without fields: the class of the jobs, which fabricd finds out.
function classOf(data: FormData): ClassChoice {
  const dscp = numberOf(data, "dscp", "DSCP", DSCP_MAX);
  const service_level = numberOf(data, "service_level", "Service level", SERVICE_LEVEL_MAX);
  return {
    ...(dscp !== undefined && { traffic_class: dscp === 0 ? 0 : (dscp << 2) | ECT0 }),
    ...(service_level !== undefined && { service_level }),
    ...(data.get("compare_default") === "on" && { compare_default: true }),
  };
}

// Throws an Error with a text for the user.
export function specOf(data: FormData): Spec {
  const rails = names(text(data, "rails")).map((rail) => {
    if (!/^\d+$/.test(rail)) throw new Error(`Rails: expected numbers, saw "${rail}"`);
    return Number(rail);
  });
  const class_choice = classOf(data);
  const where = {
    nodes: names(text(data, "nodes")),
    rails,
    ...(Object.keys(class_choice).length > 0 && { class_choice }),
  };
  const preset = text(data, "preset");
  if (preset !== "") return { ...where, preset: `CAMPAIGN_PRESET_${preset}` };
  const pattern = text(data, "pattern");
  const incast = pattern === "INCAST";
  const kinds = KINDS.map(([kind]) => kind).filter((kind) => data.get(kind) === "on");
  if (kinds.length === 0 && !incast) throw new Error("Measures: expected at least one");
  return {
    ...where,
    probes: incast ? [{ incast: {} }] : kinds.map((kind) => ({ [kind]: {} })),
    pattern: `CAMPAIGN_PATTERN_${pattern}`,
    hub: text(data, "hub"),
    until_decided: data.get("until_decided") === "on",
  };
}

export function SpecFields() {
  const [preset, setPreset] = useState("");
  const [pattern, setPattern] = useState(PATTERNS[0]!);
  return (
    <>
      <Field label="Nodes" hint=" empty: all">
        <textarea name="nodes" rows={2} placeholder="gpu-0001, gpu-0002" />
      </Field>
      <div class="row">
        <Field label="Rails" hint=" empty: all">
          <input name="rails" size={8} placeholder="0, 1" />
        </Field>
        <Field label="Preset">
          <select
            name="preset"
            value={preset}
            onChange={(event) => setPreset(event.currentTarget.value)}
          >
            {PRESETS.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </Field>
        {preset === "" && (
          <Field label="Pattern">
            <select
              name="pattern"
              value={pattern}
              onChange={(event) => setPattern(event.currentTarget.value)}
            >
              {PATTERNS.map((one) => (
                <option key={one} value={one}>
                  {one.toLowerCase().replaceAll("_", " ")}
                </option>
              ))}
            </select>
          </Field>
        )}
        {preset === "" && HUB_PATTERNS.includes(pattern) && (
          <Field label="Hub">
            <input name="hub" size={12} required placeholder="gpu-0001" />
          </Field>
        )}
      </div>
      {preset === "" && pattern !== "INCAST" && (
        <fieldset>
          <legend>Measures</legend>
          {KINDS.map(([kind, label], index) => (
            <label class="check" key={kind}>
              <input type="checkbox" name={kind} defaultChecked={index < 2} /> {label}
            </label>
          ))}
        </fieldset>
      )}
      <details>
        <summary>Traffic class</summary>
        <p class="muted">Without a choice, probes send in the class of the jobs on these ports.</p>
        <div class="row">
          <Field label="DSCP" hint=" RoCE, 0 to 63">
            <input name="dscp" size={5} inputMode="numeric" />
          </Field>
          <Field label="Service level" hint=" InfiniBand, 0 to 15">
            <input name="service_level" size={5} inputMode="numeric" />
          </Field>
        </div>
        <label class="check">
          <input type="checkbox" name="compare_default" /> also probe with DSCP 0, and compare
        </label>
      </details>
      {preset === "" && (
        <label class="check">
          <input type="checkbox" name="until_decided" /> end as soon as the fault is located
        </label>
      )}
    </>
  );
}
