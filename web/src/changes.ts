// What changed lately: events, and behind them what fabricd stores, because events end with a restart
// of fabricd. Pure.
import { byName } from "./format";
import type { Campaign, Certificate, FabricEvent, Finding } from "./types";

export interface Stored {
  findings: Finding[]; // Opened or resolved in the period
  campaigns: Campaign[];
  certificates: Certificate[];
}

export interface Change {
  key: string;
  at: string;
  event?: FabricEvent;
  certificate?: Certificate;
  nodes?: { names: string[]; state: string }; // Neighbours in time that changed to the same state
}

const ofEvent = (event: FabricEvent): Change => ({
  key: event.cursor || event.sequence,
  at: event.at,
  event,
});

function ofFindings(findings: Finding[]): Change[] {
  return findings.flatMap((finding) => {
    const one = (at: string, state: string): Change => ({
      key: `${finding.id} ${state}`,
      at,
      event: { sequence: "", cursor: "", at, finding: { ...finding, state } },
    });
    return [
      one(finding.opened_at, "FINDING_STATE_OPEN"),
      ...(finding.resolved_at ? [one(finding.resolved_at, finding.state)] : []),
    ];
  });
}

function ofCampaigns(campaigns: Campaign[]): Change[] {
  return campaigns.map((campaign) => {
    const at = campaign.ended_at ?? campaign.started_at;
    return { key: campaign.id, at, event: { sequence: "", cursor: "", at, campaign } };
  });
}

function stateChange(change: Change): string {
  const node = change.event?.node;
  return node && node.state_since === change.at ? node.state : "";
}

// A fleet that connects is one row.
function grouped(changes: Change[]): Change[] {
  const rows: Change[] = [];
  for (const change of changes) {
    const state = stateChange(change);
    const last = rows.at(-1);
    const before = last?.nodes ?? (last && stateChange(last) ? last.event?.node : undefined);
    if (!last || !before || state === "" || before.state !== state) {
      rows.push(change);
      continue;
    }
    const names = [change.event!.node!.name, ...(last.nodes?.names ?? [last.event!.node!.name])];
    rows[rows.length - 1] = { key: last.key, at: last.at, nodes: { names, state } };
  }
  for (const { nodes } of rows) if (nodes) nodes.names = [...new Set(nodes.names)].sort(byName);
  return rows;
}

// Newest first. `events`: newest first, without a gap behind the oldest one.
export function changesOf(events: FabricEvent[], stored: Stored | undefined): Change[] {
  const since = Math.min(...events.map((event) => Date.parse(event.at)));
  const before = stored
    ? [...ofFindings(stored.findings), ...ofCampaigns(stored.campaigns)].filter(
        (change) => Date.parse(change.at) < since,
      )
    : [];
  // There are no events about certificates.
  const certificates = (stored?.certificates ?? []).map((certificate) => ({
    key: certificate.id,
    at: certificate.issued_at ?? certificate.started_at,
    certificate,
  }));
  const all = [...events.map(ofEvent), ...before, ...certificates];
  return grouped(all.sort((a, b) => Date.parse(b.at) - Date.parse(a.at)));
}
