// InfiniBand subnets: who reads them, their findings, errors at switch ports, changes.
import { get, list } from "../api";
import { Age, LoadError, Loading, Panel, Severity, State, Value } from "../parts/basics";
import { Table, type Column } from "../parts/table";
import { MISSING, count, duration, scaled, severityRank } from "../format";
import { hashOf } from "../router";
import { useLoad } from "../session";
import type {
  Finding,
  SubnetChange,
  SubnetHistory,
  SubnetHistoryEntry,
  SubnetInfo,
  SubnetPortErrors,
} from "../types";

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

export function changeText(change: SubnetChange): string {
  switch (change.kind) {
    case "SUBNET_CHANGE_KIND_MOVED":
      return `moved: ${change.now}, before ${change.before}`;
    case "SUBNET_CHANGE_KIND_GONE":
      return `gone: ${change.before}`;
    case "SUBNET_CHANGE_KIND_NEW":
      return `new: ${change.now}`;
    case "SUBNET_CHANGE_KIND_FLAPPED":
      return `down ${change.flaps === 1 ? "once" : `${change.flaps} times`}: ${change.now}`;
    case "SUBNET_CHANGE_KIND_ROUTES":
      return `routes changed while links, LIDs and master did not: ${change.now}`;
    case "SUBNET_CHANGE_KIND_MASTER":
      return `subnet manager: ${change.now || "none"}, before ${change.before || "none"}`;
    default:
      return "unknown change";
  }
}

interface ChangeOfSubnet extends SubnetHistoryEntry {
  subnet: string;
}

const CHANGES: Column<ChangeOfSubnet>[] = [
  {
    title: "Last",
    sort: (one) => one.last_at,
    cell: (one) => <Age at={one.last_at} />,
  },
  {
    title: "First",
    minor: true,
    sort: (one) => one.first_at,
    cell: (one) => <Age at={one.first_at} />,
  },
  { title: "Times", numeric: true, sort: (one) => one.times, cell: (one) => count(one.times) },
  { title: "Change", cell: (one) => changeText(one.change) },
  { title: "Subnet", minor: true, sort: (one) => one.subnet, cell: (one) => one.subnet },
];

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
  const histories = await Promise.all(
    subnets.items.map((one) =>
      get<SubnetHistory>(`/v1/subnets/${encodeURIComponent(one.name)}/history`, {}, signal),
    ),
  );
  const changes = histories
    .flatMap(({ subnet, entries }) => entries.map((entry) => ({ ...entry, subnet })))
    .sort((one, other) => other.last_at.localeCompare(one.last_at));
  return {
    subnets: subnets.items,
    findings: findings.items,
    complete: findings.complete,
    changes,
  };
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
          <Panel title="Changes">
            <Table
              rows={value.changes}
              columns={CHANGES}
              keyOf={(one) => `${one.subnet} ${changeText(one.change)}`}
              caption="Changes of cables, routes and subnet managers"
              empty="No changes between two readings by agents."
              name="changes"
            />
          </Panel>
        </>
      )}
    </>
  );
}
