// Small parts that all pages use.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { MISSING, age, dateTime, word } from "../format";
import { hashOf } from "../router";
import { useSession } from "../session";
import type { CoverageGap, Subject } from "../types";

const VERDICT_SHAPES: Record<string, string> = {
  VERDICT_PASS: "M3 8.5l3.5 3.5L13 4.5",
  VERDICT_FAIL: "M4 4l8 8M12 4l-8 8",
  VERDICT_UNKNOWN: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2Q8 8.8 8 10M8 12.4v.1",
};
const SEVERITY_SHAPES: Record<string, string> = {
  SEVERITY_CRITICAL: "M8 1l6.5 7L8 15 1.5 8z",
  SEVERITY_ERROR: "M2 2h12v12H2z",
  SEVERITY_WARNING: "M8 1.5L15 14H1z",
  SEVERITY_INFO: "M8 2a6 6 0 1 0 .01 0z",
};

// Text, shape and colour together: colour alone carries nothing.
export function Verdict({ value }: { value: string }) {
  const shape = VERDICT_SHAPES[value];
  const text = word(value, "VERDICT").toUpperCase();
  if (!shape) return <span class="muted">{MISSING}</span>;
  return (
    <span class={`badge ${text.toLowerCase()}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={shape} class="stroke" />
      </svg>
      {text}
    </span>
  );
}

export function Severity({ value }: { value: string }) {
  const text = word(value, "SEVERITY");
  return (
    <span class={`badge ${text}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={SEVERITY_SHAPES[value] ?? ""} />
      </svg>
      {text}
    </span>
  );
}

// State of a node, port or campaign. `good`: what is expected.
export function State({ text, good, bad }: { text: string; good: boolean; bad: boolean }) {
  const kind = good ? "pass" : bad ? "fail" : "unknown";
  const shape = VERDICT_SHAPES[good ? "VERDICT_PASS" : bad ? "VERDICT_FAIL" : "VERDICT_UNKNOWN"];
  return (
    <span class={`badge ${kind}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={shape} class="stroke" />
      </svg>
      {text}
    </span>
  );
}

// A value, or "–" with the reason why it is missing.
export function Value({ text, why = "not reported" }: { text: string; why?: string }) {
  if (text !== MISSING && text !== "") return <>{text}</>;
  return (
    <span class="muted" title={why}>
      {MISSING}
      <span class="sr"> ({why})</span>
    </span>
  );
}

export function Age({ at, why }: { at: string | undefined; why?: string }) {
  const { now } = useSession();
  const text = age(at, now);
  if (text === MISSING) return <Value text={MISSING} {...(why ? { why } : {})} />;
  return (
    <time dateTime={at} title={dateTime(at)}>
      {text}
    </time>
  );
}

export function NodeLink({ name }: { name: string }) {
  return <a href={hashOf(["nodes", name])}>{name}</a>;
}

export function PortLink({ node, device, port }: { node: string; device: string; port: number }) {
  return <a href={hashOf(["nodes", node, device, String(port)])}>{`${node}/${device}/${port}`}</a>;
}

export function SubjectLink({ subject }: { subject: Subject }) {
  const { node, device, port, rail, netdev } = subject;
  if (subject.scope === "SCOPE_SWITCH")
    return (
      <a href={hashOf(["topology"], { leaf: subject.switch_name })}>switch {subject.switch_name}</a>
    );
  if (node !== "" && device !== "" && port > 0)
    return (
      <a
        href={hashOf(["nodes", node, device, String(port)])}
      >{`${node}/${netdev || `${device}/${port}`}`}</a>
    );
  if (node !== "")
    return <a href={hashOf(["nodes", node])}>{device === "" ? node : `${node}/${device}`}</a>;
  if (subject.scope === "SCOPE_RAIL" && rail !== undefined)
    return <a href={hashOf(["topology"], { rail: String(rail) })}>rail {rail}</a>;
  return <span>{word(subject.scope, "SCOPE")}</span>;
}

export function Panel({
  title,
  extra,
  children,
  wide,
}: {
  title: string;
  extra?: ComponentChildren;
  children: ComponentChildren;
  wide?: boolean;
}) {
  return (
    <section class={wide ? "panel wide" : "panel"}>
      <header>
        <h2>{title}</h2>
        {extra}
      </header>
      {children}
    </section>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

// The error of a load; the last value stays visible below it.
export function LoadError({ error }: { error: string | undefined }) {
  return error ? (
    <p class="error" role="alert">
      {error}
    </p>
  ) : null;
}

export function Loading({ error }: { error?: string | undefined }) {
  return error ? (
    <LoadError error={error} />
  ) : (
    <p class="empty" role="status">
      Loading…
    </p>
  );
}

export function Facts({ rows }: { rows: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Copy({ text, what }: { text: string; what: string }) {
  const [done, setDone] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone("Copied");
    } catch {
      setDone("Not copied: select the text");
    }
    setTimeout(() => setDone(""), 2000);
  };
  return (
    <button type="button" class="small" onClick={() => void copy()}>
      {done || "Copy"}
      <span class="sr"> {what}</span>
    </button>
  );
}

export function Command({ text, what }: { text: string; what: string }) {
  return (
    <div class="command">
      <pre tabIndex={0} role="region" aria-label={what}>
        <code>{text}</code>
      </pre>
      <Copy text={text} what={what} />
    </div>
  );
}

export function Gaps({ gaps, omitted = 0 }: { gaps: CoverageGap[]; omitted?: number }) {
  const groups = new Map<string, string[]>();
  for (const gap of gaps) {
    const where =
      gap.node === ""
        ? gap.rule
        : gap.device === ""
          ? gap.node
          : `${gap.node}/${gap.device}/${gap.port}`;
    groups.set(gap.text, [...(groups.get(gap.text) ?? []), where]);
  }
  const shown = 5;
  return (
    <ul class="plain">
      {[...groups].slice(0, 20).map(([text, places]) => (
        <li key={text}>
          {text}: {places.filter(Boolean).slice(0, shown).join(", ")}
          {places.length > shown ? ` and ${places.length - shown} more` : ""}
        </li>
      ))}
      {groups.size > 20 && <li>{groups.size - 20} more reasons</li>}
      {omitted > 0 && <li>{omitted} more, which the answer omits</li>}
    </ul>
  );
}

export function Progress({ done, total, label }: { done: number; total: number; label: string }) {
  return <progress max={Math.max(total, 1)} value={Math.min(done, total)} aria-label={label} />;
}
