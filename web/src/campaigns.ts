// Campaigns that wait for others. Pure.
import type { Campaign } from "./types";

const SHOWN = 3;
const runs = (one: Campaign) => one.state === "CAMPAIGN_STATE_RUNNING";

// Of a running campaign without a result: the others that run, which can hold its ports. Empty: it
// has results, or none runs.
export function waitText(campaign: Campaign, all: Campaign[]): string {
  if (!runs(campaign) || campaign.probes_ok + campaign.probes_failed > 0) return "";
  const others = all.filter((one) => runs(one) && one.id !== campaign.id).map((one) => one.id);
  if (others.length === 0) return "";
  const more = others.length > SHOWN ? ` and ${others.length - SHOWN} more` : "";
  const verb = others.length === 1 ? "runs" : "run";
  return `no result yet; ${others.slice(0, SHOWN).join(", ")}${more} also ${verb} and can hold the ports`;
}
