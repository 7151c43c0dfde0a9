// InfiniBand subnets: who reads them, their findings, errors at switch ports, changed cables.
import { list } from "../api";
import { Age, Empty, LoadError, Loading, Panel, Severity, State, Value } from "../parts/basics";
import { Table, type Column } from "../parts/table";
import { MISSING, count, duration, scaled, severityRank } from "../format";
import { hashOf } from "../router";
import { useLoad, useSession } from "../session";
import type { CableChange, Finding, SubnetInfo, SubnetPortErrors } from "../types";

const FINDINGS_MAX = 200;

const SUBNETS: Column<SubnetInfo>[] = [
  { title: "Subnet", unbroken: true, sort: (one) => one.name, cell: (one) => one.name },
  {
    title: "State",
    sort: (one) => one.problem,
    cell: (one) =>
      one.problem ? (
        <State text={one.problem} good={false} bad={false} />
      ) : (
        <State text={one.read_at ? "read" : "first reading"} good={!!one.read_at} bad={false} />
      ),
  },
  {
    title: "Read",
    sort: (one) => one.read_at,
    cell: (one) => <Age at={one.read_at} why="not read yet" />,
  },
  {
    title: "Switches",
    numeric: true,
    sort: (one) => one.switches,
    cell: (one) => count(one.switches),
  },
  {
    title: "Adapters",
    numeric: true,
    sort: (one) => one.adapters,
    cell: (one) => count(one.adapters),
  },
  { title: "Cables", numeric: true, sort: (one) => one.cables, cell: (one) => count(one.cables) },
  {
    title: "Source",
    minor: true,
    sort: (one) => one.source,
    cell: (one) => <Value text={one.source || MISSING} />,
  },
];

interface PortRow extends SubnetPortErrors {
  subnet: string;
}

const errorsOf = (port: SubnetPortErrors): number =>
  port.counts.reduce((sum, one) => sum + Number(one.increase), 0) / port.seconds;

const PORTS: Column<PortRow>[] = [
  {
    title: "Switch port",
    unbroken: true,
    sort: (port) => `${port.switch_name} ${port.port}`,
    cell: (port) => `${port.switch_name} port ${port.port}`,
  },
  { title: "Far end", sort: (port) => port.peer, cell: (port) => <Value text={port.peer} /> },
  {
    title: "Errors per second",
    numeric: true,
    sort: errorsOf,
    cell: (port) => scaled(errorsOf(port), ""),
  },
  {
    title: "Counters",
    cell: (port) =>
      `${port.counts.map((one) => `${one.counter} +${count(one.increase)}`).join(", ")} in ${duration(port.seconds)}`,
  },
  { title: "Subnet", minor: true, sort: (port) => port.subnet, cell: (port) => port.subnet },
];

export function cableText(change: CableChange): string {
  switch (change.kind) {
    case "CABLE_CHANGE_KIND_MOVED":
      return `moved: ${change.now}, before ${change.before}`;
    case "CABLE_CHANGE_KIND_GONE":
      return `gone: ${change.before}`;
    case "CABLE_CHANGE_KIND_NEW":
      return `new: ${change.now}`;
    case "CABLE_CHANGE_KIND_FLAPPED":
      return `down ${change.flaps === 1 ? "once" : `${change.flaps} times`}: ${change.now}`;
    default:
      return "unknown change";
  }
}

function Changes() {
  const { events } = useSession();
  const changed = events.filter((event) => event.subnet);
  if (changed.length === 0) return <Empty>None since this page was opened.</Empty>;
  return (
    <ul class="events">
      {changed.map((event) => (
        <li key={event.sequence}>
          <span class="muted">
            <Age at={event.at} />
          </span>
          <div>
            {event.subnet!.changes.map((change) => (
              <div key={cableText(change)}>{cableText(change)}</div>
            ))}
            {event.subnet!.total > event.subnet!.changes.length && (
              <div>and {event.subnet!.total - event.subnet!.changes.length} more</div>
            )}
          </div>
        </li>
      ))}
    </ul>
  );
}

const FINDINGS: Column<Finding>[] = [
  {
    title: "Severity",
    sort: (one) => severityRank(one.severity),
    cell: (one) => <Severity value={one.severity} />,
  },
  {
    title: "Finding",
    sort: (one) => one.title,
    cell: (one) => <a href={hashOf(["findings", one.id])}>{one.title}</a>,
  },
];

async function load(signal: AbortSignal) {
  const subnets = await list<SubnetInfo>("/v1/subnets", "subnets", {}, 1000, signal);
  const findings = await list<Finding>(
    "/v1/findings",
    "findings",
    { filter: "rule=~subnet_.*" },
    FINDINGS_MAX,
    signal,
  );
  return { subnets: subnets.items, findings: findings.items, complete: findings.complete };
}

export function SubnetsPage() {
  const { value, error } = useLoad("subnets", load, ["finding", "subnet"], 60_000);
  const ports =
    value?.subnets.flatMap((one) =>
      one.port_errors.map((port) => ({ ...port, subnet: one.name })),
    ) ?? [];
  return (
    <>
      <h1>InfiniBand subnets {value && <small>{count(value.subnets.length)}</small>}</h1>
      <LoadError error={error} />
      {!value ? (
        !error && <Loading />
      ) : (
        <>
          <Panel title="Readings">
            <Table
              rows={value.subnets}
              columns={SUBNETS}
              keyOf={(one) => `${one.name} ${one.source}`}
              caption="Subnets"
              empty="No InfiniBand subnet. Agents that may open a umad device read theirs."
            />
          </Panel>
          <Panel title={value.complete ? "Open findings" : `The first ${FINDINGS_MAX} findings`}>
            <Table
              rows={value.findings}
              columns={FINDINGS}
              keyOf={(one) => one.id}
              caption="Findings about subnets"
              empty="None."
              name="findings"
            />
          </Panel>
          <Panel title="Switch ports with the most errors">
            <Table
              rows={ports}
              columns={PORTS}
              keyOf={(port) => `${port.subnet} ${port.switch_name} ${port.port}`}
              caption="Switch ports with errors in the last reading"
              empty="No errors in the last readings, or no two values of the counters."
              name="ports"
            />
          </Panel>
          <Panel title="Changed cables">
            <Changes />
          </Panel>
        </>
      )}
    </>
  );
}
