// Text forms of values. Pure. A missing value is "–".

export const MISSING = "–";

// "SEVERITY_CRITICAL" is "critical" for the prefix "SEVERITY".
export function word(value: string | undefined, prefix: string): string {
  if (!value || value === `${prefix}_UNSPECIFIED`) return MISSING;
  return value
    .slice(prefix.length + 1)
    .toLowerCase()
    .replaceAll("_", " ");
}

const UNITS = ["", "k", "M", "G", "T", "P"];

// Three significant digits and a power of 1000: "21.4 G".
export function scaled(value: number | undefined, unit: string): string {
  if (value === undefined || !Number.isFinite(value)) return MISSING;
  let power = 0;
  let rest = Math.abs(value);
  while (rest >= 999.5 && power < UNITS.length - 1) {
    rest /= 1000;
    ++power;
  }
  const digits = rest >= 100 || (power === 0 && Number.isInteger(rest)) ? 0 : rest >= 10 ? 1 : 2;
  return `${value < 0 ? "−" : ""}${rest.toFixed(digits)} ${UNITS[power]}${unit}`.trimEnd();
}

export const bitRate = (bps: number | undefined): string => scaled(bps, "b/s");

export function microseconds(us: number | undefined): string {
  if (us === undefined || !Number.isFinite(us)) return MISSING;
  if (us >= 1000) return `${(us / 1000).toPrecision(3)} ms`;
  return `${us >= 100 ? us.toFixed(0) : us.toPrecision(3)} µs`;
}

export function count(value: number | string | undefined): string {
  if (value === undefined || value === "") return MISSING;
  const number = Number(value);
  return Number.isFinite(number) ? number.toLocaleString("en-US") : MISSING;
}

// "12 s", "3 min", "5 h", "2 d"
export function duration(seconds: number | undefined): string {
  if (seconds === undefined || !Number.isFinite(seconds)) return MISSING;
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  if (whole < 48 * 3600) return `${Math.floor(whole / 3600)} h`;
  return `${Math.floor(whole / 86400)} d`;
}

export function age(at: string | undefined, now: number): string {
  const time = at === undefined ? NaN : Date.parse(at);
  return Number.isNaN(time) ? MISSING : duration((now - time) / 1000);
}

// "2026-11-24 01:06:04", local time.
export function dateTime(at: string | undefined): string {
  const time = at === undefined ? NaN : Date.parse(at);
  if (Number.isNaN(time)) return MISSING;
  const date = new Date(time);
  const two = (number: number) => String(number).padStart(2, "0");
  return (
    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  );
}

// "01:06", local time, of a tick of a time axis; "01:06:30" if ticks are less than a minute apart.
export function axisTime(seconds: number, step: number): string {
  return dateTime(new Date(seconds * 1000).toISOString()).slice(11, step < 60 ? 19 : 16);
}

export function percent(part: number, whole: number): string {
  if (whole <= 0) return MISSING;
  const value = (100 * part) / whole;
  // Never "100 %" or "0 %" for what is not.
  if (value > 99.9 && part < whole) return "> 99.9 %";
  if (value < 0.1 && part > 0) return "< 0.1 %";
  return `${value.toFixed(value >= 99.95 || value === 0 ? 0 : 1)} %`;
}

// Priorities of a mask: "3, 4"; "none" for 0.
export function priorities(mask: number | undefined): string {
  if (mask === undefined) return MISSING;
  const set = [0, 1, 2, 3, 4, 5, 6, 7].filter((priority) => (mask >> priority) & 1);
  return set.length === 0 ? "none" : set.join(", ");
}

// What an event about a node says: a change of its labels, which has another time than its state, or
// its state.
export function nodeEventText(
  at: string,
  node: { state: string; state_since: string; lost_reason: string; labels?: Record<string, string> },
): string {
  if (node.state_since && at !== node.state_since)
    return `has the labels ${labelsText(node.labels) || "(none)"}`;
  const state = word(node.state, "NODE_STATE");
  return node.lost_reason ? `${state}: ${node.lost_reason}` : state;
}

// "pool=h100, rack=r12", by key; empty without labels.
export function labelsText(labels: Record<string, string> | undefined): string {
  return Object.entries(labels ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");
}

export const SEVERITIES = [
  "SEVERITY_CRITICAL",
  "SEVERITY_ERROR",
  "SEVERITY_WARNING",
  "SEVERITY_INFO",
];

export function severityRank(severity: string): number {
  const rank = SEVERITIES.indexOf(severity);
  return rank < 0 ? SEVERITIES.length : rank;
}

// "gpu-2" before "gpu-10".
export const byName = new Intl.Collator("en", { numeric: true }).compare;

// A duration as a person types it: "90s", "4h", "2d". Undefined: not a duration.
export function parseDuration(text: string): number | undefined {
  const match = /^\s*(\d+)\s*(s|min|m|h|d)\s*$/.exec(text);
  if (!match) return undefined;
  const seconds = { s: 1, min: 60, m: 60, h: 3600, d: 86400 }[match[2] as "s"];
  return Number(match[1]) * seconds;
}

// "n1, n2 n3" is three names.
export const names = (text: string): string[] => text.split(/[\s,]+/).filter((name) => name !== "");

// What a person types in a filter box. Text with an operator is a filter of the API as it is.
export function filterOf(text: string, field: string): string {
  const trimmed = text.trim();
  if (trimmed === "" || /[=<>~]/.test(trimmed)) return trimmed;
  const escaped = trimmed.replace(/[.*+?^${}()|[\]\\"]/g, "\\$&");
  return `${field}=~".*${escaped.replace(/\\/g, "\\\\").replace(/"/g, '\\"')}.*"`;
}
