// Findings: list with filters.
import { list, type Listed } from "../api";
import { Age, LoadError, Loading, Severity, SubjectLink, Verdict } from "../parts/basics";
import { FilterBox } from "../parts/filter_box";
import { Table, type Column } from "../parts/table";
import { SEVERITIES, count, filterOf, severityRank, word } from "../format";
import { hashOf, setQuery, type Route } from "../router";
import { useLoad } from "../session";
import type { Finding } from "../types";

const FIELDS =
  "id,rule,verdict,severity,subject,title,state,opened_at,explained_by,explains,acknowledged,silenced,flapping,common_cause,affected_total,affected";

export function marksOf(finding: Finding): string {
  return [
    finding.state === "FINDING_STATE_RESOLVED" ? "resolved" : "",
    finding.acknowledged ? `acknowledged by ${finding.acknowledged.author}` : "",
    finding.silenced ? "silenced" : "",
    finding.flapping ? "flapping" : "",
    finding.common_cause ? "common cause" : "",
    finding.explained_by !== "" ? "has a cause" : "",
    finding.explains.length > 0 ? `explains ${finding.explains.length}` : "",
  ]
    .filter(Boolean)
    .join(", ");
}

const COLUMNS: Column<Finding>[] = [
  {
    title: "Severity",
    cell: (one) => <Severity value={one.severity} />,
    sort: (one) => severityRank(one.severity),
  },
  {
    title: "Verdict",
    minor: true,
    cell: (one) => <Verdict value={one.verdict} />,
    sort: (one) => one.verdict,
  },
  {
    title: "Finding",
    sort: (one) => one.title,
    cell: (one) => (
      <>
        <a href={hashOf(["findings", one.id])}>{one.title}</a>
        <div class="muted">
          {one.rule}
          {marksOf(one) && ` · ${marksOf(one)}`}
          <span class="small-screen">
            {" "}
            · <SubjectLink subject={one.subject} />
          </span>
        </div>
      </>
    ),
  },
  {
    title: "Subject",
    minor: true,
    unbroken: true,
    cell: (one) => <SubjectLink subject={one.subject} />,
    sort: (one) => `${one.subject.node} ${one.subject.device} ${one.subject.rail ?? ""}`,
  },
  {
    title: "Age",
    cell: (one) => <Age at={one.opened_at} />,
    sort: (one) => -Date.parse(one.opened_at),
  },
];

export function FindingTable({ findings, empty }: { findings: Finding[]; empty: string }) {
  const sorted = [...findings].sort(
    (a, b) =>
      severityRank(a.severity) - severityRank(b.severity) || a.verdict.localeCompare(b.verdict),
  );
  return (
    <Table
      rows={sorted}
      columns={COLUMNS}
      keyOf={(one) => one.id}
      caption="Findings"
      empty={empty}
      name="finding"
    />
  );
}

function Toggle({ route, name, label }: { route: Route; name: string; label: string }) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={route.query[name] === "1"}
        onChange={(event) =>
          setQuery(route, { [name]: event.currentTarget.checked ? "1" : undefined })
        }
      />
      {label}
    </label>
  );
}

export function FindingsPage({ route }: { route: Route }) {
  const { node = "", severity = "", unknown, resolved } = route.query;
  const filter = filterOf(route.query.filter ?? "", "title");
  const query = {
    node,
    filter,
    min_severity: severity,
    include_unknown: unknown === "1",
    include_resolved: resolved === "1",
    fields: FIELDS,
  };
  const { value, error } = useLoad<Listed<Finding>>(
    `findings ${JSON.stringify(query)}`,
    (signal) => list<Finding>("/v1/findings", "findings", query, 5000, signal),
    ["finding"],
  );
  return (
    <>
      <h1>
        Findings{" "}
        {value && (
          <small>
            {count(value.items.length)}
            {value.complete ? "" : "+"}
          </small>
        )}
      </h1>
      <div class="toolbar">
        <FilterBox route={route} label="Filter of findings" hint={'title, or rule="port_active"'} />
        <label class="check">
          At least{" "}
          <select
            value={severity}
            onChange={(event) => setQuery(route, { severity: event.currentTarget.value })}
          >
            <option value="">any severity</option>
            {SEVERITIES.map((one) => (
              <option key={one} value={word(one, "SEVERITY")}>
                {word(one, "SEVERITY")}
              </option>
            ))}
          </select>
        </label>
        <Toggle route={route} name="unknown" label="UNKNOWN verdicts" />
        <Toggle route={route} name="resolved" label="resolved" />
        {node !== "" && (
          <span class="chip">
            node {node}{" "}
            <button
              type="button"
              class="small"
              onClick={() => setQuery(route, { node: undefined })}
            >
              Clear
            </button>
          </span>
        )}
      </div>
      <LoadError error={error} />
      {!value ? (
        !error && <Loading />
      ) : (
        <FindingTable findings={value.items} empty="No finding matches." />
      )}
    </>
  );
}
