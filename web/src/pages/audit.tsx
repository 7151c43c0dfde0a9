// Audit log: calls that changed something or were denied, and the check of its chain of hashes.
import { useState } from "preact/hooks";
import { get, list } from "../api";
import { LoadError, Loading, Panel, State, Value } from "../parts/basics";
import { FilterBox } from "../parts/filter_box";
import { Form } from "../parts/form";
import { Table, type Column } from "../parts/table";
import { count, dateTime, filterOf, word } from "../format";
import { setQuery, type Route } from "../router";
import { mayAdministrate, useLoad, useSession } from "../session";
import type { AuditEntry, AuditVerification } from "../types";

const ENTRIES_MAX = 1000;
const OUTCOMES = ["ok", "denied", "failed"];

function Outcome({ value }: { value: string }) {
  const text = word(value, "AUDIT_OUTCOME");
  return <State text={text} good={text === "ok"} bad={text !== "ok"} />;
}

// The request is as long as 1 KiB: it is shown on demand.
function Details({ entry }: { entry: AuditEntry }) {
  return (
    <details>
      <summary>
        <span class="sr">Request of entry {entry.sequence}: </span>
        {entry.reason || "request"}
      </summary>
      <code>{entry.request || "{}"}</code>
      <div class="muted">
        hash <code>{entry.hash}</code>
      </div>
    </details>
  );
}

const COLUMNS: Column<AuditEntry>[] = [
  {
    title: "Entry",
    numeric: true,
    minor: true,
    sort: (one) => Number(one.sequence),
    cell: (one) => one.sequence,
  },
  {
    title: "Time",
    sort: (one) => Date.parse(one.time),
    cell: (one) => <time dateTime={one.time}>{dateTime(one.time)}</time>,
  },
  {
    title: "Outcome",
    sort: (one) => one.outcome,
    cell: (one) => <Outcome value={one.outcome} />,
  },
  {
    title: "Call",
    sort: (one) => `${one.method} ${one.target}`,
    cell: (one) => (
      <>
        {one.method} <span class="muted">{one.target}</span>
      </>
    ),
  },
  {
    title: "Who",
    sort: (one) => one.identity,
    cell: (one) => <Value text={one.identity} why="no valid credential" />,
  },
  { title: "From", minor: true, sort: (one) => one.address, cell: (one) => one.address },
  { title: "Details", minor: true, cell: (one) => <Details entry={one} /> },
];

function verificationText(checked: AuditVerification): string {
  if (checked.broken_sequence !== "0")
    return `Entry ${checked.broken_sequence} is damaged: ${checked.broken_reason}`;
  if (checked.entries === "0") return "No entries.";
  return (
    `The chain of entries ${checked.first_sequence} to ${checked.last_sequence} is intact. ` +
    "Hash of the last one:"
  );
}

function Verification() {
  const [checked, setChecked] = useState<AuditVerification>();
  const submit = async () => setChecked(await get<AuditVerification>("/v1/audit:verify"));
  return (
    <Form label="Check the chain of hashes" submit={submit}>
      {checked && (
        <p role="status" class={checked.broken_sequence === "0" ? "" : "error"}>
          {verificationText(checked)} <code>{checked.last_hash}</code>
        </p>
      )}
    </Form>
  );
}

function Entries({ route }: { route: Route }) {
  const { outcome = "" } = route.query;
  const filter = [
    outcome === "" ? "" : `outcome=${outcome}`,
    filterOf(route.query.filter ?? "", "identity"),
  ]
    .filter((term) => term !== "")
    .join(" ");
  // Not again by itself: each reading is an entry.
  const { value, error, reload } = useLoad(
    `audit ${filter}`,
    (signal) => list<AuditEntry>("/v1/audit", "entries", { filter }, ENTRIES_MAX, signal),
    [],
    Infinity,
  );
  return (
    <>
      <div class="toolbar">
        <FilterBox route={route} label="Filter of the audit log" hint={'who, or method="DeleteNode"'} />
        <label class="check">
          Outcome{" "}
          <select
            value={outcome}
            onChange={(event) => setQuery(route, { outcome: event.currentTarget.value })}
          >
            <option value="">any</option>
            {OUTCOMES.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <button type="button" class="small" onClick={reload}>
          Reload
        </button>
      </div>
      <LoadError error={error} />
      {!value ? (
        !error && <Loading />
      ) : (
        <Table
          rows={value.items}
          columns={COLUMNS}
          keyOf={(one) => one.sequence}
          caption="Audit log"
          empty="No entry matches."
        />
      )}
      {value && !value.complete && (
        <p class="muted">Only the newest {count(ENTRIES_MAX)} entries are shown.</p>
      )}
    </>
  );
}

export function AuditPage({ route }: { route: Route }) {
  const { identity } = useSession();
  return (
    <>
      <h1>Audit log</h1>
      {mayAdministrate(identity) ? (
        <>
          <Panel title="Calls that changed something or were denied">
            <Entries route={route} />
          </Panel>
          <Panel title="Is the log complete?">
            <Verification />
          </Panel>
        </>
      ) : (
        <p class="muted">To read the audit log, the role admin is needed.</p>
      )}
    </>
  );
}
