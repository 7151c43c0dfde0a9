// Part of the topology page: the switches of an InfiniBand subnet by their levels.
import { list } from "../api";
import { count } from "../format";
import { Panel } from "../parts/basics";
import { Suspects, SwitchBox } from "../parts/topology_parts";
import { Table, type Column } from "../parts/table";
import { setQuery, type Route } from "../router";
import { makeLevels, type Cable, type Level, type Switch } from "../subnet_levels";
import { loadSnapshot, type SubnetNode } from "../subnet_snapshot";
import type { Finding, SubnetInfo, Suspect } from "../types";
import { FindingTable } from "./findings";

export interface SubnetLevels {
  name: string;
  levels: Level[];
  problem: string; // Why there are no levels; empty: they are there
}

const SUBNETS_MAX = 64;

// The snapshot of each subnet that was read last: it is large, and the page loads often.
const known = new Map<string, { at: string; nodes: SubnetNode[] }>();

async function nodesOf({ name, read_at = "" }: SubnetInfo, signal: AbortSignal) {
  const last = known.get(name);
  if (last && last.at === read_at) return last.nodes;
  const nodes = await loadSnapshot(name, signal);
  known.set(name, { at: read_at, nodes });
  return nodes;
}

export async function loadSubnets(
  findings: Finding[],
  suspects: Suspect[],
  signal: AbortSignal,
): Promise<SubnetLevels[]> {
  const { items } = await list<SubnetInfo>("/v1/subnets", "subnets", {}, SUBNETS_MAX, signal);
  return Promise.all(
    items.map(async (info) => {
      const { name, read_at } = info;
      if (!read_at) return { name, levels: [], problem: "the subnet has not been read yet" };
      try {
        const nodes = await nodesOf(info, signal);
        return { name, levels: makeLevels(nodes, findings, suspects), problem: "" };
      } catch (error) {
        if (signal.aborted) throw error;
        return { name, levels: [], problem: error instanceof Error ? error.message : String(error) };
      }
    }),
  );
}

const CABLES: Column<Cable>[] = [
  { title: "Port", numeric: true, sort: (one) => one.port, cell: (one) => String(one.port) },
  { title: "Far end", sort: (one) => one.peer, cell: (one) => one.peer },
  {
    title: "Far port",
    numeric: true,
    sort: (one) => one.peerPort,
    cell: (one) => String(one.peerPort),
  },
  {
    title: "Kind",
    sort: (one) => (one.peerIsSwitch ? "switch" : "adapter"),
    cell: (one) => (one.peerIsSwitch ? "switch" : "adapter"),
  },
];

function SwitchPanel({ subnet, one, onClose }: { subnet: string; one: Switch; onClose(): void }) {
  return (
    <Panel
      title={`${one.name}, subnet ${subnet}`}
      extra={
        <button type="button" class="small" onClick={onClose}>
          Close
        </button>
      }
    >
      <Suspects title="Suspects" suspects={one.suspects} />
      {one.findings.length > 0 && <FindingTable findings={one.findings} empty="" />}
      <Table
        rows={one.cables}
        columns={CABLES}
        keyOf={(cable) => String(cable.port)}
        caption="Cables of the switch"
        empty="No cable."
        name="cable"
      />
    </Panel>
  );
}

export function SubnetPanels({ route, subnets }: { route: Route; subnets: SubnetLevels[] }) {
  const { subnet, switch: chosen } = route.query;
  const isOpen = (name: string, one: Switch) => subnet === name && chosen === one.name;
  const open = subnets.flatMap(({ name, levels }) =>
    levels.flatMap(({ switches }) =>
      switches.filter((one) => isOpen(name, one)).map((one) => ({ name, one })),
    ),
  )[0];
  return (
    <>
      {open && (
        <SwitchPanel
          subnet={open.name}
          one={open.one}
          onClose={() => setQuery(route, { subnet: undefined, switch: undefined })}
        />
      )}
      {subnets.map(({ name, levels, problem }) => (
        <Panel
          key={name}
          title={`InfiniBand subnet ${name}`}
          extra={
            <span class="muted">
              {problem === "" &&
                `${count(levels.reduce((sum, level) => sum + level.switches.length, 0))} switches`}
            </span>
          }
        >
          {problem !== "" && <p class="muted">No levels: {problem}.</p>}
          {levels.map((level) => (
            <section key={level.number} aria-label={`${level.title} of subnet ${name}`}>
              <h3>{level.title}</h3>
              <div class="leaves">
                {level.switches.map((one) => (
                  <SwitchBox
                    key={one.name}
                    name={one.name}
                    about={
                      one.adapters > 0
                        ? `${count(one.adapters)} adapters, ${count(one.switches)} uplinks`
                        : `${count(one.switches)} cables`
                    }
                    suspects={one.suspects.length}
                    findings={one.findings.length}
                    notActive={0}
                    open={isOpen(name, one)}
                    onOpen={() =>
                      setQuery(
                        route,
                        isOpen(name, one)
                          ? { subnet: undefined, switch: undefined }
                          : { subnet: name, switch: one.name },
                      )
                    }
                  />
                ))}
              </div>
            </section>
          ))}
        </Panel>
      ))}
    </>
  );
}
