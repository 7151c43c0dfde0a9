// Schedules of campaigns: list, the form that adds one, and one schedule with its runs and figures.
import { get, list, post, remove } from "../api";
import { Age, Empty, Facts, LoadError, Loading, Panel, Value } from "../parts/basics";
import { SpecFields, specOf } from "../parts/campaign_spec";
import { Field, Form, text } from "../parts/form";
import { Table, type Column } from "../parts/table";
import { kindsOf } from "./campaigns";
import { MISSING, bitRate, byName, count, dateTime, microseconds, word } from "../format";
import { linePoints, trendsOf, type Trend } from "../figures";
import { hashOf } from "../router";
import { mayOperate, useLoad, useSession } from "../session";
import type { Schedule, ScheduleRecord } from "../types";

const RUNS_PER_DAY = 24; // What 0 means
const MINUTES_PER_DAY = 60;
const TRENDS_SHOWN = 200;

const lastRun = (one: Schedule) => one.runs[one.runs.length - 1];

function NextRun({ schedule }: { schedule: Schedule }) {
  return <Value text={dateTime(schedule.next_run_at)} why="the expression matches no time" />;
}

const COLUMNS: Column<Schedule>[] = [
  {
    title: "Schedule",
    sort: (one) => one.id,
    cell: (one) => <a href={hashOf(["schedules", one.id])}>{one.id}</a>,
  },
  { title: "Times (UTC)", sort: (one) => one.cron, cell: (one) => <code>{one.cron}</code> },
  {
    title: "Next run",
    sort: (one) => one.next_run_at,
    cell: (one) => <NextRun schedule={one} />,
  },
  {
    title: "Last run",
    sort: (one) => lastRun(one)?.started_at,
    cell: (one) => {
      const run = lastRun(one);
      return (
        <>
          {run ? (
            <>
              <a href={hashOf(["campaigns", run.campaign])}>{run.campaign}</a>{" "}
              <Age at={run.started_at} />
            </>
          ) : (
            <Value text={MISSING} why="no run yet" />
          )}
          {one.skipped_reason !== "" && <div class="muted">skipped: {one.skipped_reason}</div>}
        </>
      );
    },
  },
  {
    title: "Runs",
    numeric: true,
    sort: (one) => Number(one.runs_total),
    cell: (one) => count(one.runs_total),
  },
  { title: "Measures", minor: true, cell: (one) => specText(one) },
  { title: "Author", minor: true, sort: (one) => one.author, cell: (one) => one.author },
];

function specText(one: Schedule): string {
  const preset = word(one.spec?.preset, "CAMPAIGN_PRESET");
  return preset === MISSING ? kindsOf(one.spec) || "latency, bandwidth" : `preset ${preset}`;
}

function AddForm({ author }: { author: string }) {
  const submit = async (data: FormData) => {
    const schedule = await post<Schedule>("/v1/schedules", {
      schedule: {
        cron: text(data, "cron"),
        spec: specOf(data),
        runs_per_day: Number(text(data, "runs")),
        minutes_per_day: Number(text(data, "minutes")),
        author,
      },
    });
    location.hash = hashOf(["schedules", schedule.id]);
  };
  return (
    <Form label="Add schedule" submit={submit}>
      <div class="row">
        <Field label="Times" hint=" minute, hour, day, month, weekday in UTC">
          <input name="cron" required size={14} placeholder="30 2 * * 1-5" />
        </Field>
        <Field label="Runs per day" hint=" at most">
          <input name="runs" type="number" min={1} max={288} defaultValue="24" />
        </Field>
        <Field label="Minutes per day" hint=" at most">
          <input name="minutes" type="number" min={1} max={1440} defaultValue="60" />
        </Field>
      </div>
      <SpecFields />
      <p class="muted">Ports that carry traffic are skipped.</p>
    </Form>
  );
}

export function SchedulesPage() {
  const { identity } = useSession();
  const { value, error } = useLoad(
    "schedules",
    (signal) => list<Schedule>("/v1/schedules", "schedules", {}, 1000, signal),
    ["campaign"],
    15_000,
  );
  const rows = value?.items.slice().sort((a, b) => byName(a.id, b.id)) ?? [];
  return (
    <>
      <h1>Schedules</h1>
      <LoadError error={error} />
      <Panel title="Schedules">
        {!value ? (
          !error && <Loading />
        ) : (
          <Table
            rows={rows}
            columns={COLUMNS}
            keyOf={(one) => one.id}
            caption="Schedules"
            empty="No schedule yet. fabricd compares each run with the runs before."
          />
        )}
      </Panel>
      <Panel title="Add a schedule">
        {mayOperate(identity) ? (
          <AddForm author={identity!.name} />
        ) : (
          <p class="muted">To add a schedule, the role operator is needed.</p>
        )}
      </Panel>
    </>
  );
}

const figure = (value: number | undefined, trend: Trend) =>
  trend.measure === "bandwidth" ? bitRate(value) : microseconds(value);

function changeText(change: number | undefined): string {
  if (change === undefined) return MISSING;
  const part = Math.round(Math.abs(change) * 100);
  return part === 0 ? "same" : `${part} % ${change > 0 ? "worse" : "better"}`;
}

const LINE = { width: 120, height: 20 };

const TREND_COLUMNS: Column<Trend>[] = [
  { title: "Port or pair", unbroken: true, sort: (one) => one.name, cell: (one) => one.name },
  { title: "Measure", sort: (one) => one.measure, cell: (one) => one.measure },
  { title: "Newest", numeric: true, cell: (one) => figure(one.newest, one) },
  {
    title: "Median before",
    numeric: true,
    cell: (one) => <Value text={figure(one.median, one)} why="this was the first run" />,
  },
  {
    title: "Change",
    numeric: true,
    sort: (one) => one.change,
    cell: (one) => <Value text={changeText(one.change)} why="nothing to compare with" />,
  },
  {
    title: "Runs",
    minor: true,
    cell: (one) => (
      <svg
        class="spark"
        viewBox={`-1 -1 ${LINE.width + 2} ${LINE.height + 2}`}
        width={LINE.width}
        height={LINE.height}
        aria-hidden="true"
      >
        <polyline points={linePoints(one.values, LINE.width, LINE.height)} />
      </svg>
    ),
  },
];

function Runs({ schedule }: { schedule: Schedule }) {
  const runs = [...schedule.runs].reverse();
  return (
    <Table
      rows={runs}
      keyOf={(one) => one.campaign}
      caption="Runs"
      empty="No run yet."
      name="run"
      columns={[
        {
          title: "Campaign",
          cell: (one) => <a href={hashOf(["campaigns", one.campaign])}>{one.campaign}</a>,
        },
        { title: "Started", cell: (one) => dateTime(one.started_at) },
        { title: "Ended", cell: (one) => <Value text={dateTime(one.ended_at)} why="it runs" /> },
      ]}
    />
  );
}

export function SchedulePage({ id }: { id: string }) {
  const { identity } = useSession();
  const { value, error } = useLoad(
    `schedule ${id}`,
    (signal) => get<ScheduleRecord>(`/v1/schedules/${encodeURIComponent(id)}`, {}, signal),
    ["campaign"],
    15_000,
  );
  if (!value)
    return (
      <>
        <h1>Schedule {id}</h1>
        <Loading error={error} />
      </>
    );
  const { schedule } = value;
  const trends = trendsOf([...value.ports, ...value.pairs]);
  return (
    <>
      <nav class="crumbs" aria-label="Path">
        <a href={hashOf(["schedules"])}>Schedules</a> / {id}
      </nav>
      <h1>
        {id} <small>{schedule.cron}</small>
      </h1>
      <LoadError error={error} />
      <Facts
        rows={[
          ["Next run", <NextRun schedule={schedule} />],
          ["Measures", specText(schedule)],
          ["Nodes", schedule.spec?.nodes.length ? count(schedule.spec.nodes.length) : "all"],
          ["Runs so far", count(schedule.runs_total)],
          [
            "Limits per day",
            `${schedule.runs_per_day || RUNS_PER_DAY} runs, ${schedule.minutes_per_day || MINUTES_PER_DAY} min`,
          ],
          ["Author", schedule.author],
          ["Created", dateTime(schedule.created_at)],
        ]}
      />
      {schedule.skipped_reason !== "" && (
        <p>The last due run did not start: {schedule.skipped_reason}</p>
      )}
      <Panel title="Newest run against the runs before">
        {trends.length === 0 ? (
          <Empty>No figures yet.</Empty>
        ) : (
          <Table
            rows={trends.slice(0, TRENDS_SHOWN)}
            columns={TREND_COLUMNS}
            keyOf={(one) => `${one.name} ${one.measure}`}
            caption="Figures"
            empty=""
            name="figure"
          />
        )}
        {trends.length > TRENDS_SHOWN && (
          <p class="muted">
            The {TRENDS_SHOWN} worst of {count(trends.length)} figures are shown.
          </p>
        )}
      </Panel>
      <Panel title="Runs of the last 24 hours">
        <Runs schedule={schedule} />
      </Panel>
      {mayOperate(identity) && (
        <Panel title="Delete">
          <Form
            label="Delete the schedule"
            danger
            submit={async () => {
              await remove(`/v1/schedules/${encodeURIComponent(id)}`);
              location.hash = hashOf(["schedules"]);
            }}
          >
            <p>Its figures are deleted too. A campaign that runs continues.</p>
          </Form>
        </Panel>
      )}
    </>
  );
}
