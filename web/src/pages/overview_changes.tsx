// What changed lately, on the overview.
import { get, list } from "../api";
import { changesOf, type Change, type Stored } from "../changes";
import { Age, Empty, LoadError, NodeLink, Panel, PortLink, SubjectLink } from "../parts/basics";
import { count, nodeEventText, word } from "../format";
import { hashOf } from "../router";
import { useLoad, useSession } from "../session";
import type { Campaign, Certificate, FabricEvent, Finding } from "../types";

const CHANGES_SHOWN = 12;
const CHANGES_PERIOD = "24h";
const CHANGES_READ = 1000;
const CHANGES_RELOAD_MS = 60_000; // Events are kept for the newest changes only.
const CHANGE_FIELDS =
  "id,rule,verdict,state,subject,title,opened_at,changed_at,resolved_at,explained_by";

// Newest first: findings that were opened or resolved, campaigns and certificates.
async function loadStored(signal: AbortSignal): Promise<Stored> {
  const changed = (filter: string) =>
    list<Finding>(
      "/v1/findings",
      "findings",
      { include_resolved: true, filter, fields: CHANGE_FIELDS },
      CHANGES_READ,
      signal,
    );
  const [opened, resolved, campaigns, certificates] = await Promise.all([
    changed(`opened_at>${CHANGES_PERIOD} verdict=fail`),
    changed(`opened_at<${CHANGES_PERIOD} resolved_at>${CHANGES_PERIOD} verdict=fail`),
    get<{ campaigns: Campaign[] }>(
      "/v1/campaigns",
      { page_size: CHANGES_SHOWN, fields: "id,state,started_at,ended_at" },
      signal,
    ),
    get<{ certificates: Certificate[] }>(
      "/v1/certificates",
      { page_size: CHANGES_SHOWN, fields: "id,state,verdict,request,started_at,issued_at" },
      signal,
    ),
  ]);
  return {
    findings: [...opened.items, ...resolved.items].filter((one) => one.explained_by === ""),
    campaigns: campaigns.campaigns,
    certificates: certificates.certificates,
  };
}

function EventText({ event }: { event: FabricEvent }) {
  if (event.node)
    return (
      <>
        node <NodeLink name={event.node.name} /> {nodeEventText(event.at, event.node)}
      </>
    );
  if (event.finding)
    return (
      <>
        <a href={hashOf(["findings", event.finding.id])}>{event.finding.title}</a>{" "}
        <span class="muted">
          {word(event.finding.state, "FINDING_STATE")},{" "}
          <SubjectLink subject={event.finding.subject} />
        </span>
      </>
    );
  if (event.campaign)
    return (
      <>
        campaign <a href={hashOf(["campaigns", event.campaign.id])}>{event.campaign.id}</a>{" "}
        {word(event.campaign.state, "CAMPAIGN_STATE")}
      </>
    );
  if (event.port)
    return (
      <>
        port <PortLink {...event.port} /> {word(event.port.before, "PORT_STATE")} →{" "}
        {word(event.port.after, "PORT_STATE")}
      </>
    );
  if (event.ports)
    return (
      <>
        {event.ports.total} ports of <NodeLink name={event.ports.node} /> changed
      </>
    );
  if (event.subnet)
    return (
      <>
        <a href={hashOf(["subnets"])}>subnet {event.subnet.subnet}</a>: {event.subnet.total} cable
        changes
      </>
    );
  if (event.node_action)
    return (
      <>
        {word(event.node_action.kind, "NODE_ACTION_KIND")} of{" "}
        <NodeLink name={event.node_action.node} />{" "}
        {word(event.node_action.state, "NODE_ACTION_STATE")} ({event.node_action.id})
      </>
    );
  return <>{event.gap ? `events missed: ${event.gap.reason}` : "other event"}</>;
}

function ChangeText({ change }: { change: Change }) {
  const { certificate, nodes, findings } = change;
  if (findings)
    return (
      <>
        <a href={hashOf(["findings"], { filter: `rule="${findings.rule}"` })}>
          {count(findings.count)} findings of {findings.rule}
        </a>{" "}
        <span class="muted">
          {findings.state === "FINDING_STATE_OPEN"
            ? "opened"
            : word(findings.state, "FINDING_STATE")}
        </span>
      </>
    );
  if (nodes)
    return (
      <>
        nodes{" "}
        {nodes.names.slice(0, 2).map((name, index) => (
          <span key={name}>
            {index > 0 && ", "}
            <NodeLink name={name} />
          </span>
        ))}
        {nodes.names.length > 2 && ` and ${count(nodes.names.length - 2)} more`}{" "}
        {word(nodes.state, "NODE_STATE")}
      </>
    );
  if (certificate)
    return (
      <>
        certificate <a href={hashOf(["certificates", certificate.id])}>{certificate.id}</a>
        {certificate.request.job_id !== "" && ` of job ${certificate.request.job_id}`}:{" "}
        {certificate.state === "CERTIFICATE_STATE_DONE"
          ? word(certificate.verdict, "VERDICT").toUpperCase()
          : word(certificate.state, "CERTIFICATE_STATE")}
      </>
    );
  return change.event ? <EventText event={change.event} /> : null;
}

export function ChangesPanel() {
  const { events } = useSession();
  const { value, error } = useLoad("changes", loadStored, ["campaign"], CHANGES_RELOAD_MS);
  const changes = changesOf(events, value);
  return (
    <Panel title="What changed lately">
      <LoadError error={error} />
      {changes.length === 0 && value && <Empty>No change in the last {CHANGES_PERIOD}.</Empty>}
      <ul class="events">
        {changes.slice(0, CHANGES_SHOWN).map((change) => (
          <li key={change.key}>
            <span class="muted">
              <Age at={change.at} />
            </span>
            <div>
              <ChangeText change={change} />
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
