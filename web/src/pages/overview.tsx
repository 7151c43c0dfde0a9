// Overview: what is wrong now, by cause; how much is covered; what changed lately.
import { get, list } from "../api";
import {
  Age,
  Empty,
  LoadError,
  Loading,
  NodeLink,
  Panel,
  Severity,
  State,
  SubjectLink,
  Value,
} from "../parts/basics";
import { ChangesPanel } from "./overview_changes";
import { SEVERITIES, count, percent, severityRank, word } from "../format";
import { hashOf } from "../router";
import { useLoad } from "../session";
import type { Finding, MeshStatus, NodeSummary, VerdictCounts } from "../types";

const NODE_FIELDS = "name,state,state_since,ports,ports_active,lost_reason";
const FINDING_FIELDS =
  "id,rule,verdict,severity,subject,title,opened_at,explains,explained_by,acknowledged,silenced,common_cause,affected_total,affected";
const CAUSES_SHOWN = 12;

interface Overview {
  nodes: NodeSummary[];
  findings: Finding[];
  counts: VerdictCounts | undefined;
  mesh: MeshStatus | undefined;
}

async function load(signal: AbortSignal): Promise<Overview> {
  const [nodes, findings, first, mesh] = await Promise.all([
    list<NodeSummary>("/v1/nodes", "nodes", { fields: NODE_FIELDS }, 10_000, signal),
    list<Finding>("/v1/findings", "findings", { fields: FINDING_FIELDS }, 5000, signal),
    get<{ counts?: VerdictCounts }>("/v1/findings", { page_size: 1, fields: "id" }, signal),
    get<MeshStatus>("/v1/mesh", { page_size: 1 }, signal).catch(() => undefined),
  ]);
  return { nodes: nodes.items, findings: findings.items, counts: first.counts, mesh };
}

type Tone = "good" | "alarm" | "unknown";
const toneOf = (alarm: boolean, known: boolean): Tone =>
  alarm ? "alarm" : known ? "good" : "unknown";

function Tile({
  title,
  value,
  note,
  href,
  tone,
}: {
  title: string;
  value: string;
  note: string;
  href: string;
  tone: Tone;
}) {
  return (
    <a class={`tile ${tone}`} href={href}>
      <span class="title">{title}</span>
      <span class="figure">{value}</span>
      <span class="note">{note}</span>
    </a>
  );
}

function Tiles({ value }: { value: Overview }) {
  const connected = value.nodes.filter((node) => node.state === "NODE_STATE_CONNECTED").length;
  const lost = value.nodes.length - connected;
  const active = value.nodes.reduce((sum, node) => sum + (node.ports_active ?? 0), 0);
  const ports = value.nodes.reduce((sum, node) => sum + node.ports, 0);
  const known = value.nodes.reduce(
    (sum, node) => sum + (node.ports_active === undefined ? 0 : node.ports),
    0,
  );
  const portNotes = [
    `of ${count(ports)}`,
    known > active ? `${count(known - active)} not active` : "",
    ports > known ? `${count(ports - known)} not known` : "",
  ];
  const open = value.findings.filter((finding) => !finding.silenced);
  const worst = SEVERITIES.map((severity) => ({
    severity,
    number: open.filter((one) => one.severity === severity).length,
  })).filter(({ number }) => number > 0);
  const counts = value.counts;
  const judged = counts ? counts.pass + counts.fail : 0;
  const all = counts ? judged + counts.unknown : 0;
  return (
    <div class="tiles">
      <Tile
        title="Nodes"
        value={count(connected)}
        tone={toneOf(lost > 0, value.nodes.length > 0)}
        href={hashOf(["nodes"])}
        note={lost === 0 ? "all connected" : `connected, ${count(lost)} lost`}
      />
      <Tile
        title="Active ports"
        value={count(active)}
        tone={toneOf(active < known, ports > 0 && known === ports)}
        href={hashOf(["topology"])}
        note={portNotes.filter((note) => note !== "").join(", ")}
      />
      <Tile
        title="Open findings"
        value={count(open.length)}
        tone={toneOf(open.length > 0, judged > 0)}
        href={hashOf(["findings"])}
        note={
          worst.length === 0
            ? "none"
            : worst
                .map(({ severity, number }) => `${number} ${word(severity, "SEVERITY")}`)
                .join(", ")
        }
      />
      <Tile
        title="Coverage"
        value={percent(judged, all)}
        tone={toneOf(false, all > 0 && judged === all && lost === 0)}
        href={hashOf(["findings"], { unknown: "1" })}
        note={
          counts
            ? `${count(judged)} verdicts, ${count(counts.unknown)} UNKNOWN` +
              (lost > 0 ? `; ${count(lost)} lost ${lost === 1 ? "node" : "nodes"} not judged` : "")
            : "not evaluated yet"
        }
      />
    </div>
  );
}

// Findings that no other one explains, most severe first.
export function causes(findings: Finding[]): Finding[] {
  const ids = new Set(findings.map((finding) => finding.id));
  return findings
    .filter((finding) => finding.explained_by === "" || !ids.has(finding.explained_by))
    .sort(
      (a, b) =>
        severityRank(a.severity) - severityRank(b.severity) ||
        b.explains.length - a.explains.length ||
        b.opened_at.localeCompare(a.opened_at),
    );
}

// Causes of one rule are one row.
export function groupsOf(findings: Finding[]): Finding[][] {
  const groups = new Map<string, Finding[]>();
  for (const finding of causes(findings)) {
    const key = `${finding.rule} ${finding.severity}`;
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  return [...groups.values()];
}

function CauseRow({ group }: { group: Finding[] }) {
  const first = group[0]!;
  const explained = group.reduce((sum, finding) => sum + finding.explains.length, 0);
  const href =
    group.length === 1
      ? hashOf(["findings", first.id])
      : hashOf(["findings"], { filter: `rule="${first.rule}"` });
  return (
    <li>
      <Severity value={first.severity} />
      <div>
        <a href={href}>{first.title}</a>
        <div class="muted">
          {group.slice(0, 3).map((finding, index) => (
            <span key={finding.id}>
              {index > 0 && ", "}
              <SubjectLink subject={finding.subject} />
            </span>
          ))}
          {group.length > 3 && ` and ${group.length - 3} more`}
          {" · "}
          {first.rule}
          {explained > 0 && ` · explains ${explained} more`}
          {first.acknowledged && " · acknowledged"}
        </div>
      </div>
      <span class="muted">
        <Age at={first.opened_at} />
      </span>
    </li>
  );
}

function MeshLine({ mesh }: { mesh: MeshStatus | undefined }) {
  if (!mesh) return <Value text="–" why="the mesh could not be read" />;
  if (!mesh.enabled) return <span class="muted">off{mesh.reason && `: ${mesh.reason}`}</span>;
  const suspects = mesh.blame?.suspects.length ?? 0;
  return (
    <State
      text={suspects === 0 ? `${mesh.ports} ports, no suspect` : `${suspects} suspects`}
      good={suspects === 0}
      bad={suspects > 0}
    />
  );
}

export function OverviewPage() {
  const { value, error } = useLoad("overview", load, ["node", "finding", "port"]);
  if (!value)
    return (
      <>
        <h1>Overview</h1>
        <Loading error={error} />
      </>
    );
  const groups = groupsOf(value.findings.filter((finding) => !finding.silenced));
  const lost = value.nodes.filter((node) => node.state !== "NODE_STATE_CONNECTED");
  return (
    <>
      <h1>Overview</h1>
      <LoadError error={error} />
      <Tiles value={value} />
      <div class="columns">
        <Panel
          title="What is wrong, by cause"
          extra={<a href={hashOf(["findings"])}>All findings</a>}
        >
          {groups.length === 0 && (
            <Empty>
              {value.counts && value.counts.pass > 0
                ? "No open finding."
                : "Nothing was evaluated yet: no node has reported."}
            </Empty>
          )}
          <ul class="causes">
            {groups.slice(0, CAUSES_SHOWN).map((group) => (
              <CauseRow key={group[0]!.id} group={group} />
            ))}
          </ul>
          {groups.length > CAUSES_SHOWN && (
            <p class="muted">{groups.length - CAUSES_SHOWN} more causes</p>
          )}
        </Panel>
        <div>
          <ChangesPanel />
          <Panel title="Lost nodes">
            {lost.length === 0 ? (
              <Empty>None.</Empty>
            ) : (
              <ul class="events">
                {lost.slice(0, 8).map((node) => (
                  <li key={node.name}>
                    <span class="muted">
                      <Age at={node.state_since} />
                    </span>
                    <div>
                      <NodeLink name={node.name} /> {node.lost_reason}
                    </div>
                  </li>
                ))}
                {lost.length > 8 && (
                  <li>
                    <span />
                    <a href={hashOf(["nodes"], { filter: "state=lost" })}>{lost.length - 8} more</a>
                  </li>
                )}
              </ul>
            )}
          </Panel>
          <Panel title="Mesh">
            <p>
              <MeshLine mesh={value.mesh} />
            </p>
          </Panel>
        </div>
      </div>
    </>
  );
}
