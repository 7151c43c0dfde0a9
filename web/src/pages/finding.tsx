// One finding: evidence, remedies, causes, history; acknowledge and silence.
import { get, post } from "../api";
import {
  Age,
  Command,
  Empty,
  Facts,
  LoadError,
  Loading,
  Panel,
  Severity,
  SubjectLink,
  Value,
  Verdict,
} from "../parts/basics";
import { Field, Form, text } from "../parts/form";
import { Table } from "../parts/table";
import { MISSING, dateTime, parseDuration, word } from "../format";
import { hashOf } from "../router";
import { mayOperate, useLoad, useSession } from "../session";
import type { Finding, FindingRecord, Remedy } from "../types";
import { marksOf } from "./findings";

const REACH: Record<string, string> = {
  NOTHING: "nothing, it only reads",
  JOB: "the environment of a job",
  PORT: "this port",
  NIC: "all ports of the card",
  NODE: "the node",
  SWITCH_PORT: "the switch port",
  SWITCH: "all ports of the switch",
  SUBNET: "the whole fabric",
};

function RemedyItem({ remedy }: { remedy: Remedy }) {
  const reach = remedy.affects.replace("REMEDY_REACH_", "");
  const effects: [string, string][] = [
    ["Type it on", remedy.host || MISSING],
    ["Affects", REACH[reach] ?? MISSING],
    ["Interrupts", remedy.interrupts || (remedy.command === "" ? MISSING : "nothing")],
    [
      "Lasts",
      remedy.persistence === "REMEDY_PERSISTENCE_PERMANENT"
        ? "permanently"
        : remedy.persistence === "REMEDY_PERSISTENCE_UNTIL_REBOOT"
          ? "until a reboot"
          : MISSING,
    ],
  ];
  return (
    <li class="remedy">
      <h3>{remedy.platform === "any" ? "Any platform" : remedy.platform}</h3>
      {remedy.command !== "" && (
        <Command text={remedy.command} what={`command for ${remedy.platform}`} />
      )}
      {remedy.note !== "" && <p>{remedy.note}</p>}
      {remedy.command !== "" && (
        <Facts
          rows={effects.map(([name, value]) => [
            name,
            <Value text={value} why="not stated by the rule" />,
          ])}
        />
      )}
      {remedy.weakens_isolation && (
        <p class="error">Weakens the isolation between tenants or virtual machines.</p>
      )}
      {remedy.persist !== "" && <p>To make it permanent: {remedy.persist}</p>}
      {remedy.undo !== "" && (
        <>
          <p>To undo it:</p>
          <Command text={remedy.undo} what={`undo command for ${remedy.platform}`} />
        </>
      )}
    </li>
  );
}

function Actions({ finding, reload }: { finding: Finding; reload(): void }) {
  const { identity } = useSession();
  if (!mayOperate(identity))
    return (
      <p class="muted">
        To acknowledge or silence a finding, the role operator is needed. You are{" "}
        {identity?.name ?? "not signed in"}.
      </p>
    );
  if (finding.state === "FINDING_STATE_RESOLVED")
    return <p class="muted">The finding is resolved.</p>;
  const author = identity!.name;
  return (
    <div class="columns even">
      <Form
        label="Acknowledge"
        submit={async (data) => {
          await post(`/v1/findings/${finding.id}:acknowledge`, {
            author,
            note: text(data, "note"),
          });
          reload();
        }}
      >
        <Field label="Note">
          <input name="note" maxLength={500} placeholder="reason or ticket" />
        </Field>
      </Form>
      {finding.silenced ? (
        <Form
          label="End the silence"
          submit={async () => {
            await post(
              `/v1/silences/${finding.silenced!.id}:delete?author=${encodeURIComponent(author)}`,
            );
            reload();
          }}
        >
          <p>
            Silenced until {dateTime(finding.silenced.until)} by {finding.silenced.author}:{" "}
            {finding.silenced.reason}
          </p>
        </Form>
      ) : (
        <Form
          label="Silence"
          submit={async (data) => {
            const duration_seconds = parseDuration(text(data, "for"));
            if (duration_seconds === undefined)
              throw new Error(
                `Duration: expected a number and s, min, h or d, saw "${text(data, "for")}"`,
              );
            await post("/v1/silences", {
              silence: { finding: finding.id, author, reason: text(data, "reason") },
              duration_seconds,
            });
            reload();
          }}
        >
          <Field label="For">
            <input name="for" defaultValue="4h" size={6} required />
          </Field>
          <Field label="Reason">
            <input name="reason" required maxLength={500} />
          </Field>
        </Form>
      )}
    </div>
  );
}

function Links({ ids }: { ids: string[] }) {
  return (
    <>
      {ids.slice(0, 20).map((id) => (
        <a key={id} class="chip" href={hashOf(["findings", id])}>
          <code>{id}</code>
        </a>
      ))}
      {ids.length > 20 && ` and ${ids.length - 20} more`}
    </>
  );
}

export function FindingPage({ id }: { id: string }) {
  const { value, error, reload } = useLoad(
    `finding ${id}`,
    (signal) =>
      get<{ finding: Finding; history: FindingRecord[] }>(
        `/v1/findings/${encodeURIComponent(id)}`,
        {},
        signal,
      ),
    ["finding"],
  );
  if (!value)
    return (
      <>
        <h1>Finding {id}</h1>
        <Loading error={error} />
      </>
    );
  const { finding, history } = value;
  return (
    <>
      <nav class="crumbs" aria-label="Path">
        <a href={hashOf(["findings"])}>Findings</a> / <code>{id}</code>
      </nav>
      <h1>{finding.title}</h1>
      <p class="marks">
        <Severity value={finding.severity} /> <Verdict value={finding.verdict} />{" "}
        <span>{marksOf(finding) || "open"}</span>
      </p>
      <LoadError error={error} />
      <Facts
        rows={[
          ["Subject", <SubjectLink subject={finding.subject} />],
          ["Rule", <a href={hashOf(["rules"], { filter: finding.rule })}>{finding.rule}</a>],
          [
            "Open since",
            <>
              {dateTime(finding.opened_at)} (<Age at={finding.opened_at} />)
            </>,
          ],
          ["Last change", <Age at={finding.changed_at} />],
          ...(finding.located_by ? [["Located by", finding.located_by] as [string, string]] : []),
        ]}
      />
      {finding.expired_reason !== "" && (
        <p class="error">Not judged now: {finding.expired_reason}</p>
      )}
      {finding.explained_by !== "" && (
        <p>
          Caused by <Links ids={[finding.explained_by]} />
        </p>
      )}
      {finding.explains.length > 0 && (
        <p>
          Explains <Links ids={finding.explains} />
        </p>
      )}
      <Panel title="Evidence">
        <Table
          rows={finding.evidence}
          keyOf={(one) => `${one.what} ${one.source}`}
          caption="Evidence"
          empty="The finding has no evidence."
          name="evidence"
          columns={[
            { title: "What", cell: (one) => one.what },
            {
              title: "Expected",
              cell: (one) => (
                <>
                  <Value text={one.expected || MISSING} why="no expectation" />
                  {one.basis && <div class="muted">{one.basis}</div>}
                </>
              ),
            },
            {
              title: "Seen",
              cell: (one) => (
                <strong>
                  <Value text={one.seen || MISSING} why="not readable" />
                </strong>
              ),
            },
            {
              title: "Read from",
              cell: (one) => (
                <>
                  <code>{one.source}</code>{" "}
                  <span class="muted">
                    <Age at={one.read_at} why="time not known" />
                  </span>
                </>
              ),
            },
          ]}
        />
        {finding.suspect && finding.suspect.evidence.length > 0 && (
          <ul class="plain">
            {finding.suspect.evidence.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        )}
      </Panel>
      <Panel title="How to fix it">
        {finding.remedies.length === 0 ? (
          <Empty>The rule has no remedy.</Empty>
        ) : (
          <ul class="remedies">
            {finding.remedies.map((remedy, index) => (
              <RemedyItem key={index} remedy={remedy} />
            ))}
          </ul>
        )}
      </Panel>
      <Panel title="Acknowledge and silence">
        <Actions finding={finding} reload={reload} />
      </Panel>
      {finding.affected.length > 1 && (
        <Panel title={`Affected (${finding.affected_total || finding.affected.length})`}>
          <p>
            {finding.affected.slice(0, 50).map((subject, index) => (
              <span key={index}>
                {index > 0 && ", "}
                <SubjectLink subject={subject} />
              </span>
            ))}
            {finding.affected.length > 50 &&
              ` and ${(finding.affected_total || finding.affected.length) - 50} more`}
          </p>
        </Panel>
      )}
      <Panel title="History">
        <ul class="events dated">
          {[...history].reverse().map((record, index) => (
            <li key={index}>
              <span class="muted">{dateTime(record.at)}</span>
              <div>
                {word(record.action, "FINDING_ACTION")}
                {record.author && ` by ${record.author}`}
                {record.note && `: ${record.note}`} <span class="muted">{record.title}</span>
              </div>
            </li>
          ))}
        </ul>
      </Panel>
    </>
  );
}
