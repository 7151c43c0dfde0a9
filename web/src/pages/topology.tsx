// Topology: rails, leaves, their ports, with suspects and findings marked.
import { get, list } from "../api";
import { Empty, LoadError, Loading, Panel, Severity, Value } from "../parts/basics";
import { Table } from "../parts/table";
import { count, word } from "../format";
import { hashOf, setQuery, type Route } from "../router";
import { useLoad } from "../session";
import { makeTopology, suspectsOf, type Leaf } from "../topology";
import type { Campaign, DeviceSummary, Finding, MeshStatus, Suspect } from "../types";
import { FindingTable } from "./findings";
import { PORT_COLUMNS } from "./node";

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
  return makeTopology(
    devices.items,
    findings.items.filter((one) => !one.silenced),
    suspectsOf(mesh, campaigns.items, findings.items),
  );
}

function LeafBox({ leaf, open, onOpen }: { leaf: Leaf; open: boolean; onOpen(): void }) {
  const bad =
    leaf.suspects.length > 0
      ? "suspect"
      : leaf.findings.length > 0 || leaf.notActive > 0
        ? "finding"
        : "";
  const marks = [
    leaf.suspects.length > 0
      ? `◆ ${leaf.suspects.length} suspect${leaf.suspects.length > 1 ? "s" : ""}`
      : "",
    leaf.findings.length > 0
      ? `▲ ${leaf.findings.length} finding${leaf.findings.length > 1 ? "s" : ""}`
      : "",
    leaf.notActive > 0 ? `✕ ${leaf.notActive} not active` : "",
  ].filter(Boolean);
  return (
    <button type="button" class={`leaf ${bad}`} aria-expanded={open} onClick={onOpen}>
      <span class="name">{leaf.name || "leaf unknown"}</span>
      <span class="muted">{leaf.ports.length} ports</span>
      {marks.map((mark) => (
        <span key={mark} class="mark">
          {mark}
        </span>
      ))}
    </button>
  );
}

function Suspects({ title, suspects }: { title: string; suspects: Suspect[] }) {
  if (suspects.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="suspects">
        {suspects.map((one) => (
          <li key={one.name}>
            <strong>{one.name}</strong>{" "}
            <span class="muted">
              {word(one.kind, "SUSPECT_KIND")}, {word(one.fault, "FAULT_KIND")}, confidence{" "}
              {one.confidence.toFixed(2)}
            </span>
            <ul class="plain">
              {one.evidence.map((line) => (
                <li key={line}>{line}</li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </>
  );
}

export function TopologyPage({ route }: { route: Route }) {
  const { value, error } = useLoad("topology", load, ["node", "finding", "port", "campaign"]);
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
            Hosts do not see spines. One is shown here when fault location names it.
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
                <LeafBox
                  key={key}
                  leaf={leaf}
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
