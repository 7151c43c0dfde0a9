// Campaigns: list, and the form that starts one.
import { list, post } from "../api";
import { outcomeOf, waitText } from "../campaigns";
import { Age, LoadError, Loading, Panel, Progress, State, Value } from "../parts/basics";
import { KINDS, SpecFields, specOf } from "../parts/campaign_spec";
import { Form } from "../parts/form";
import { Table, type Column } from "../parts/table";
import { MISSING, byName, count, duration } from "../format";
import { hashOf } from "../router";
import { mayOperate, useLoad, useSession } from "../session";
import type { Campaign, CampaignSpec } from "../types";

export const doneOf = (one: Campaign): number =>
  one.probes_ok + one.probes_failed + one.probes_cancelled;

export function CampaignState({ campaign }: { campaign: Campaign }) {
  return <State {...outcomeOf(campaign)} />;
}

// `all`: other campaigns, for which this one can wait.
export function CampaignProgress({ campaign, all = [] }: { campaign: Campaign; all?: Campaign[] }) {
  if (campaign.state !== "CAMPAIGN_STATE_RUNNING")
    return (
      <>
        {count(doneOf(campaign))} of {count(campaign.probes_planned)}
      </>
    );
  return (
    <>
      <Progress
        done={doneOf(campaign)}
        total={campaign.probes_planned}
        label={`Progress of ${campaign.id}`}
      />{" "}
      {campaign.remaining_seconds === undefined
        ? waitText(campaign, all) || "no estimate yet"
        : `${duration(campaign.remaining_seconds)} left`}
    </>
  );
}

export const kindsOf = (spec: CampaignSpec | undefined): string =>
  (spec?.probes ?? [])
    .map(
      (probe) =>
        KINDS.find(([kind]) => kind in probe)?.[1] ??
        Object.keys(probe).find((key) => typeof probe[key] === "object") ??
        "?",
    )
    .join(", ");

const columnsOf = (all: Campaign[]): Column<Campaign>[] => [
  {
    title: "Campaign",
    sort: (one) => one.id,
    cell: (one) => <a href={hashOf(["campaigns", one.id])}>{one.id}</a>,
  },
  { title: "State", sort: (one) => one.state, cell: (one) => <CampaignState campaign={one} /> },
  { title: "Probes", cell: (one) => <CampaignProgress campaign={one} all={all} /> },
  {
    title: "Failed",
    numeric: true,
    sort: (one) => one.probes_failed,
    cell: (one) => count(one.probes_failed),
  },
  {
    title: "Too slow",
    numeric: true,
    minor: true,
    sort: (one) => one.probes_below_expectation,
    cell: (one) => count(one.probes_below_expectation),
  },
  {
    title: "Suspects",
    numeric: true,
    sort: (one) => one.blame?.suspects.length,
    cell: (one) => <Value text={count(one.blame?.suspects.length)} why="no report" />,
  },
  { title: "Measures", minor: true, cell: (one) => kindsOf(one.spec) || MISSING },
  {
    title: "Nodes",
    numeric: true,
    minor: true,
    cell: (one) => (one.spec?.nodes.length ? count(one.spec.nodes.length) : "all"),
  },
  { title: "Started", sort: (one) => one.started_at, cell: (one) => <Age at={one.started_at} /> },
];

function StartForm() {
  const submit = async (data: FormData) => {
    const campaign = await post<Campaign>("/v1/campaigns", {
      spec: { ...specOf(data), include_busy: data.get("include_busy") === "on" },
    });
    location.hash = hashOf(["campaigns", campaign.id]);
  };
  return (
    <Form label="Start campaign" submit={submit}>
      <SpecFields />
      <label class="check">
        <input type="checkbox" name="include_busy" /> include ports that carry traffic
      </label>
    </Form>
  );
}

export function CampaignsPage() {
  const { identity } = useSession();
  const { value, error } = useLoad(
    "campaigns",
    (signal) => list<Campaign>("/v1/campaigns", "campaigns", {}, 1000, signal),
    ["campaign"],
    5000,
  );
  const rows = value?.items.slice().sort((a, b) => byName(b.id, a.id)) ?? [];
  return (
    <>
      <h1>Campaigns</h1>
      <LoadError error={error} />
      <Panel title="Campaigns" extra={<a href={hashOf(["schedules"])}>Schedules</a>}>
        {!value ? (
          !error && <Loading />
        ) : (
          <Table
            rows={rows}
            columns={columnsOf(value.items)}
            keyOf={(one) => one.id}
            caption="Campaigns"
            empty="No campaign yet."
          />
        )}
      </Panel>
      <Panel title="Start a campaign">
        {mayOperate(identity) ? (
          <StartForm />
        ) : (
          <p class="muted">To start a campaign, the role operator is needed.</p>
        )}
      </Panel>
    </>
  );
}
