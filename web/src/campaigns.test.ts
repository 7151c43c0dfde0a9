import { expect, it } from "vitest";
import { outcomeOf, waitText } from "./campaigns";
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

it("calls a campaign good only if it has results and no fault", () => {
  const done = (fields: Partial<Campaign>) =>
    outcomeOf({
      state: "CAMPAIGN_STATE_DONE",
      probes_ok: 4,
      probes_failed: 0,
      probes_lossy: 0,
      probes_below_expectation: 0,
      ...fields,
    } as Campaign);
  expect(done({})).toEqual({ text: "done", good: true, bad: false });
  expect(done({ probes_ok: 0 })).toEqual({ text: "done, no results", good: false, bad: false });
  const fault = { text: "done, faults", good: false, bad: true };
  expect(done({ probes_failed: 1 })).toEqual(fault);
  expect(done({ probes_lossy: 1 })).toEqual(fault);
  expect(done({ probes_below_expectation: 1 })).toEqual(fault);
  const suspect = { suspects: [{}] };
  expect(done({ blame: { suspects: [suspect], undecided: [] } as never })).toEqual(fault);
  expect(done({ blame: { suspects: [], undecided: [suspect] } as never })).toEqual(fault);
  for (const state of ["CAMPAIGN_STATE_RUNNING", "CAMPAIGN_STATE_CANCELLED"])
    expect(done({ state })).toMatchObject({ good: false, bad: false });
});
