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
  nodes?: { names: string[]; state: string }; // Several that changed to the same state
  findings?: { rule: string; count: number; state: string }; // Likewise
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

const GROUP_MS = 60_000; // Between two neighbours of a group

// Changes of one kind to one state, close in time, are one row, if no change of the kind to another
// state is between them. Empty: never.
function groupOf(change: Change): { kind: string; state: string } {
  const { node, finding } = change.event ?? {};
  if (node && node.state_since === change.at) return { kind: "nodes", state: node.state };
  if (!finding) return { kind: "", state: "" };
  return { kind: `rule ${finding.rule}`, state: `${finding.verdict} ${finding.state}` };
}

interface Row {
  state: string;
  oldest: number;
  all: Change[];
}

// A fleet that connects is one row, and so are its findings of one rule.
function grouped(changes: Change[]): Change[] {
  const rows: Row[] = [];
  const last = new Map<string, Row>(); // By kind
  for (const change of changes) {
    const { kind, state } = groupOf(change);
    const at = Date.parse(change.at);
    const known = kind === "" ? undefined : last.get(kind);
    if (known?.state === state && known.oldest - at <= GROUP_MS) {
      known.oldest = at;
      known.all.push(change);
      continue;
    }
    const row = { state, oldest: at, all: [change] };
    rows.push(row);
    last.set(kind, row);
  }
  return rows.map(({ all }) => {
    const first = all[0]!;
    const { node, finding } = first.event ?? {};
    const names = new Set(all.map(({ event }) => event?.node?.name ?? event?.finding?.id ?? ""));
    if (names.size < 2) return first;
    const { key, at } = first;
    if (node) return { key, at, nodes: { names: [...names].sort(byName), state: node.state } };
    return { key, at, findings: { rule: finding!.rule, count: names.size, state: finding!.state } };
  });
}

// Newest first. `events`: newest first, without a gap behind the oldest one.
export function changesOf(received: FabricEvent[], stored: Stored | undefined): Change[] {
  // A controller without events answers with a gap that has no time.
  const events = received.filter((event) => !Number.isNaN(Date.parse(event.at)));
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
