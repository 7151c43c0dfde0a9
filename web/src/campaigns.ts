// State of campaigns, and those that wait for others. Pure.
import { word } from "./format";
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

// `good`: all that was probed is well. A campaign that is done has not always found that.
export function outcomeOf(campaign: Campaign): { text: string; good: boolean; bad: boolean } {
  const text = word(campaign.state, "CAMPAIGN_STATE");
  if (campaign.state !== "CAMPAIGN_STATE_DONE") return { text, good: false, bad: false };
  const located = (campaign.blame?.suspects.length ?? 0) + (campaign.blame?.undecided.length ?? 0);
  const faults =
    campaign.probes_failed + campaign.probes_lossy + campaign.probes_below_expectation + located;
  if (faults > 0) return { text: `${text}, faults`, good: false, bad: true };
  return campaign.probes_ok > 0
    ? { text, good: true, bad: false }
    : { text: `${text}, no results`, good: false, bad: false };
}
