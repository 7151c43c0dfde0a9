// Silences and maintenance: list, end, and the form that starts one.
import { list, post } from "../api";
import { Age, LoadError, Loading, NodeLink, Panel, Value } from "../parts/basics";
import { Field, Form, text } from "../parts/form";
import { Table, type Column } from "../parts/table";
import { MISSING, byName, dateTime, parseDuration } from "../format";
import { hashOf, type Route } from "../router";
import { mayOperate, useLoad, useSession } from "../session";
import type { Silence } from "../types";

function Silenced({ silence }: { silence: Silence }) {
  return (
    <>
      {silence.finding !== "" && (
        <div class="of">
          finding{" "}
          <a href={hashOf(["findings", silence.finding])}>
            <code>{silence.finding}</code>
          </a>
        </div>
      )}
      {silence.rule !== "" && (
        <div class="of">
          rule <a href={hashOf(["rules"], { filter: silence.rule })}>{silence.rule}</a>
        </div>
      )}
      {silence.node !== "" && (
        <div class="of">
          {silence.maintenance ? "maintenance of " : "node "}
          <NodeLink name={silence.node} />
        </div>
      )}
      <div class="muted small-screen">
        {silence.author}: {silence.reason}
      </div>
    </>
  );
}

const targetOf = (one: Silence) => `${one.node} ${one.rule} ${one.finding}`;

function columnsOf(end?: (silence: Silence) => Promise<void>): Column<Silence>[] {
  const columns: Column<Silence>[] = [
    { title: "ID", minor: true, sort: (one) => one.id, cell: (one) => one.id },
    { title: "Of", sort: targetOf, cell: (one) => <Silenced silence={one} /> },
    {
      title: "Until",
      sort: (one) => Date.parse(one.until),
      cell: (one) => <time dateTime={one.until}>{dateTime(one.until)}</time>,
    },
    { title: "Author", minor: true, sort: (one) => one.author, cell: (one) => one.author },
    {
      title: "Reason",
      minor: true,
      sort: (one) => one.reason,
      cell: (one) => <Value text={one.reason || MISSING} why="no reason given" />,
    },
    {
      title: "Age",
      minor: true,
      sort: (one) => one.created_at,
      cell: (one) => <Age at={one.created_at} />,
    },
  ];
  if (end)
    columns.push({
      title: "End",
      cell: (one) => (
        <Form label="End" submit={() => end(one)}>
          <span class="sr">silence {one.id}</span>
        </Form>
      ),
    });
  return columns;
}

function StartForm({ author, node, reload }: { author: string; node: string; reload(): void }) {
  const submit = async (data: FormData) => {
    const duration_seconds = parseDuration(text(data, "for"));
    if (duration_seconds === undefined)
      throw new Error(
        `Duration: expected a number and s, min, h or d, saw "${text(data, "for")}"`,
      );
    const [of, rule] = [text(data, "node"), text(data, "rule")];
    const maintenance = data.get("maintenance") === "on";
    if (of === "" && rule === "") throw new Error("expected a node or a rule, saw neither");
    if (maintenance && rule !== "")
      throw new Error("Maintenance applies to a node: remove the rule");
    await post("/v1/silences", {
      silence: { node: of, rule, author, reason: text(data, "reason"), maintenance },
      duration_seconds,
    });
    reload();
  };
  return (
    <Form label="Add silence" submit={submit}>
      <div class="row">
        <Field label="Node" hint=" empty: all">
          <input name="node" size={14} defaultValue={node} placeholder="gpu-0001" />
        </Field>
        <Field label="Rule" hint=" empty: all rules of the node">
          <input name="rule" size={24} placeholder="mtu_equal_on_rail" />
        </Field>
        <Field label="For">
          <input name="for" defaultValue="4h" size={6} required />
        </Field>
        <Field label="Reason">
          <input name="reason" required maxLength={500} placeholder="reason or ticket" />
        </Field>
      </div>
      <label class="check">
        <input type="checkbox" name="maintenance" /> maintenance: campaigns and certificates skip
        the node
      </label>
    </Form>
  );
}

// `?node=NAME` in the address fills the form.
export function SilencesPage({ route }: { route: Route }) {
  const { identity } = useSession();
  const { value, error, reload } = useLoad(
    "silences",
    (signal) => list<Silence>("/v1/silences", "silences", {}, 1000, signal),
    ["finding"],
    10_000,
  );
  const operator = mayOperate(identity);
  const end = async (silence: Silence) => {
    const author = encodeURIComponent(identity!.name);
    await post(`/v1/silences/${encodeURIComponent(silence.id)}:delete?author=${author}`);
    reload();
  };
  const rows = value?.items.slice().sort((a, b) => byName(b.id, a.id)) ?? [];
  return (
    <>
      <h1>Silences and maintenance</h1>
      <LoadError error={error} />
      <Panel title="Active">
        {!value ? (
          !error && <Loading />
        ) : (
          <Table
            rows={rows}
            columns={columnsOf(operator ? end : undefined)}
            keyOf={(one) => one.id}
            caption="Silences"
            empty="No silence is active."
          />
        )}
      </Panel>
      <Panel title="Silence a node or a rule">
        {operator ? (
          <StartForm author={identity!.name} node={route.query.node ?? ""} reload={reload} />
        ) : (
          <p class="muted">To silence, the role operator is needed.</p>
        )}
      </Panel>
    </>
  );
}
