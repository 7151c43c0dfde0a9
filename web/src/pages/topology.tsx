// Topology: subnets by levels, rails, leaves, their ports, with suspects and findings marked.
import { get, list } from "../api";
import { Empty, LoadError, Loading, Panel, Severity, Value } from "../parts/basics";
import { Table } from "../parts/table";
import { Suspects, SwitchBox } from "../parts/topology_parts";
import { count } from "../format";
import { hashOf, setQuery, type Route } from "../router";
import { useLoad } from "../session";
import { makeTopology, suspectsOf } from "../topology";
import type { Campaign, DeviceSummary, Finding, MeshStatus } from "../types";
import { FindingTable } from "./findings";
import { PORT_COLUMNS } from "./node";
import { SubnetPanels, loadSubnets } from "./topology_subnet";

const FINDING_FIELDS =
  "id,rule,verdict,severity,subject,title,state,opened_at,explained_by,explains,acknowledged,silenced,flapping,common_cause,affected_total,affected,suspect";

async function load(signal: AbortSignal) {
  const [devices, findings, mesh, campaigns] = await Promise.all([
    list<DeviceSummary>(
      "/v1/devices",
      "devices",
      {
        fields:
          "node,device,port,netdev,rail,state,leaf,leaf_port,rate_bps,active_mtu_bytes,netdev_mtu_bytes,pfc_enabled_mask",
      },
      80_000,
      signal,
    ),
    list<Finding>("/v1/findings", "findings", { fields: FINDING_FIELDS }, 5000, signal),
    get<MeshStatus>("/v1/mesh", { page_size: 1 }, signal).catch(() => undefined),
    list<Campaign>("/v1/campaigns", "campaigns", { fields: "id,blame,state" }, 50, signal),
  ]);
  const shown = findings.items.filter((one) => !one.silenced);
  const suspects = suspectsOf(mesh, campaigns.items, findings.items);
  const subnets = await loadSubnets(shown, suspects, signal);
  return { ...makeTopology(devices.items, shown, suspects), subnets };
}

export function TopologyPage({ route }: { route: Route }) {
  const { value, error } = useLoad("topology", load, ["node", "finding", "port", "campaign", "subnet"]);
  if (!value)
    return (
      <>
        <h1>Topology</h1>
        <Loading error={error} />
      </>
    );
  const rail = route.query.rail;
  const chosen = route.query.leaf;
  const shown = value.rails.filter((one) => rail === undefined || String(one.number) === rail);
  const open =
    chosen === undefined
      ? undefined
      : value.rails
          .flatMap((one) => one.leaves.map((leaf) => ({ rail: one.number, leaf })))
          .find(({ rail: number, leaf }) => (leaf.name || `unknown-${number}`) === chosen);
  return (
    <>
      <h1>Topology</h1>
      <LoadError error={error} />
      <div class="toolbar">
        <label class="check">
          Rail{" "}
          <select
            value={rail ?? ""}
            onChange={(event) => setQuery(route, { rail: event.currentTarget.value })}
          >
            <option value="">all</option>
            {value.rails.map((one) => (
              <option key={one.number} value={String(one.number)}>
                {one.number}
              </option>
            ))}
          </select>
        </label>
        <span class="muted">
          ◆ suspect of a probe or the mesh, ▲ open finding, ✕ port not active
        </span>
      </div>
      {value.rails.length === 0 && <Empty>No fabric port has reported yet.</Empty>}
      <Panel title="Spines">
        <Suspects title="Suspects" suspects={value.spines} />
        {value.spines.length === 0 && (
          <p class="muted">
            No spine is a suspect. Hosts do not see spines of Ethernet fabrics; those of InfiniBand
            are below, with their subnet.
          </p>
        )}
        <Suspects title="Suspects beyond one leaf" suspects={value.elsewhere} />
      </Panel>
      {open && (
        <Panel
          title={`${open.leaf.name || "Leaf unknown"}, rail ${open.rail}`}
          extra={
            <button
              type="button"
              class="small"
              onClick={() => setQuery(route, { leaf: undefined })}
            >
              Close
            </button>
          }
        >
          <Suspects title="Suspects" suspects={open.leaf.suspects} />
          {open.leaf.findings.length > 0 && <FindingTable findings={open.leaf.findings} empty="" />}
          <Table
            rows={open.leaf.ports}
            keyOf={(one) => `${one.node}/${one.device}/${one.port}`}
            caption="Ports of the leaf"
            empty=""
            name="port"
            columns={[
              {
                title: "Node",
                cell: (one) => <a href={hashOf(["nodes", one.node])}>{one.node}</a>,
                sort: (one) => one.node,
              },
              ...PORT_COLUMNS.filter((column) => column.title !== "Leaf"),
              {
                title: "Leaf port",
                cell: (one) => <Value text={one.leaf_port || "–"} why="not announced" />,
                sort: (one) => one.leaf_port,
              },
            ]}
          />
        </Panel>
      )}
      <SubnetPanels route={route} subnets={value.subnets} />
      {shown.map((one) => (
        <Panel
          key={one.number}
          title={`Rail ${one.number}`}
          extra={
            <span class="muted">
              {count(one.leaves.length)} leaves,{" "}
              {count(one.leaves.reduce((sum, leaf) => sum + leaf.ports.length, 0))} ports
              {one.leaves.some((leaf) => leaf.findings.length > 0) && (
                <>
                  {" "}
                  <Severity value={one.leaves.flatMap((leaf) => leaf.findings)[0]!.severity} />
                </>
              )}
            </span>
          }
        >
          <div class="leaves">
            {one.leaves.map((leaf) => {
              const key = leaf.name || `unknown-${one.number}`;
              return (
                <SwitchBox
                  key={key}
                  name={leaf.name || "leaf unknown"}
                  about={`${leaf.ports.length} ports`}
                  suspects={leaf.suspects.length}
                  findings={leaf.findings.length}
                  notActive={leaf.notActive}
                  open={chosen === key}
                  onOpen={() => setQuery(route, { leaf: chosen === key ? undefined : key })}
                />
              );
            })}
          </div>
        </Panel>
      ))}
    </>
  );
}
