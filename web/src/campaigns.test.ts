import { expect, it } from "vitest";
import { waitText } from "./campaigns";
import type { Campaign } from "./types";

const campaign = (id: string, ok: number, state = "CAMPAIGN_STATE_RUNNING") =>
  ({ id, state, probes_ok: ok, probes_failed: 0 }) as Campaign;

it("names the campaigns for which one without a result can wait", () => {
  const all = [campaign("c3", 0), campaign("c2", 4), campaign("c1", 9, "CAMPAIGN_STATE_DONE")];
  expect(waitText(all[0]!, all)).toBe("no result yet; c2 also runs and can hold the ports");
  expect(waitText(all[1]!, all)).toBe("");
  expect(waitText(all[2]!, all)).toBe("");
  expect(waitText(all[0]!, [all[0]!])).toBe("");
  const many = [...all, ...["c4", "c5", "c6"].map((id) => campaign(id, 1))];
  expect(waitText(all[0]!, many)).toBe(
    "no result yet; c2, c4, c5 and 1 more also run and can hold the ports",
  );
});
