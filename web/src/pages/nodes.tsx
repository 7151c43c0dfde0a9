// Nodes with filter, sorting and pages.
import { list, type Listed } from "../api";
import { Age, LoadError, Loading, NodeLink, State, Value } from "../parts/basics";
import { FilterBox } from "../parts/filter_box";
import { Table, type Column } from "../parts/table";
import { MISSING, count, filterOf, word } from "../format";
import { hashOf, type Route } from "../router";
import { useLoad } from "../session";
import type { NodeSummary } from "../types";

export function NodeState({ node }: { node: NodeSummary }) {
  return (
    <State
      text={word(node.state, "NODE_STATE")}
      good={node.state === "NODE_STATE_CONNECTED"}
      bad={node.state === "NODE_STATE_LOST"}
    />
  );
}

const COLUMNS: Column<NodeSummary>[] = [
  { title: "Node", cell: (node) => <NodeLink name={node.name} />, sort: (node) => node.name },
  { title: "State", cell: (node) => <NodeState node={node} />, sort: (node) => node.state },
  {
    title: "Findings",
    numeric: true,
    sort: (node) => node.findings_open,
    cell: (node) =>
      node.findings_open === 0 ? (
        "0"
      ) : (
        <a href={hashOf(["findings"], { node: node.name })}>{node.findings_open}</a>
      ),
  },
  {
    title: "Ports active",
    numeric: true,
    sort: (node) => node.ports_active,
    cell: (node) => (
      <>
        <Value text={count(node.ports_active)} why="the node is lost" /> / {node.ports}
      </>
    ),
  },
  {
    title: "GPUs",
    numeric: true,
    minor: true,
    sort: (node) => node.gpus,
    cell: (node) => node.gpus,
  },
  {
    title: "Gaps",
    numeric: true,
    minor: true,
    sort: (node) => node.gaps,
    cell: (node) => node.gaps,
  },
  {
    title: "Kernel",
    minor: true,
    sort: (node) => node.kernel_release,
    cell: (node) => <Value text={node.kernel_release || MISSING} />,
  },
  {
    title: "Agent",
    minor: true,
    sort: (node) => node.agent_version,
    cell: (node) => <Value text={node.agent_version || MISSING} />,
  },
  {
    title: "Since",
    sort: (node) => node.state_since,
    cell: (node) => <Age at={node.state_since} />,
  },
];

export function NodesPage({ route }: { route: Route }) {
  const filter = filterOf(route.query.filter ?? "", "name");
  const { value, error } = useLoad<Listed<NodeSummary>>(
    `nodes ${filter}`,
    (signal) => list<NodeSummary>("/v1/nodes", "nodes", { filter }, 10_000, signal),
    ["node", "finding", "port"],
  );
  return (
    <>
      <h1>
        Nodes{" "}
        {value && (
          <small>
            {count(value.items.length)}
            {value.complete ? "" : "+"}
          </small>
        )}
      </h1>
      <div class="toolbar">
        <FilterBox
          route={route}
          label="Filter of nodes"
          hint={"name, or findings_open>0 state=lost"}
        />
      </div>
      <LoadError error={error} />
      {!value ? (
        !error && <Loading />
      ) : (
        <Table
          rows={value.items}
          columns={COLUMNS}
          keyOf={(node) => node.name}
          caption="Nodes"
          empty={
            filter === ""
              ? "No node has reported yet. Start fabric-agent on a node."
              : "No node matches the filter."
          }
        />
      )}
    </>
  );
}
