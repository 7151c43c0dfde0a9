// One campaign: progress, what it located, the worst pairs.
import { get, post } from "../api";
import { Blame } from "../parts/blame";
import {
  Age,
  Empty,
  Facts,
  Gaps,
  LoadError,
  Loading,
  Panel,
  PortLink,
  Value,
} from "../parts/basics";
import { Form } from "../parts/form";
import { Table } from "../parts/table";
import { MEASURES, readResults, worstPairs, type Results } from "../heatmap/results";
import { bitRate, count, dateTime, microseconds } from "../format";
import { hashOf } from "../router";
import { mayOperate, useLoad, useSession } from "../session";
import type { Campaign } from "../types";
import { CampaignProgress, CampaignState } from "./campaigns";

export const valueText = (measure: number, value: number): string =>
  measure === MEASURES.bandwidth
    ? bitRate(value)
    : measure === MEASURES.path_mtu
      ? `${count(value)} bytes`
      : microseconds(value);

const WORST = 20;

function Worst({ id, running }: { id: string; running: boolean }) {
  const { value, error } = useLoad<Results>(
    `results ${id} ${running}`,
    (signal) => readResults(id, "", signal),
    [],
    running ? 10_000 : 3_600_000,
  );
  if (!value) return <Loading error={error} />;
  if (value.cells.size === 0) return <Empty>No results yet.</Empty>;
  return (
    <>
      {[...value.cells.keys()].sort().map((measure) => {
        const worst = worstPairs(value, measure, WORST);
        const name =
          Object.entries(MEASURES).find(([, number]) => number === measure)?.[0] ?? "results";
        return (
          <div key={measure}>
            <h3>{name.replace("_", " ")}</h3>
            <Table
              rows={worst}
              keyOf={(pair) => `${pair.from} ${pair.to}`}
              caption={`Worst pairs by ${name}`}
              empty="No pair."
              name={name}
              columns={[
                { title: "From", cell: (pair) => <PortLink {...value.ports[pair.from]!} /> },
                { title: "To", cell: (pair) => <PortLink {...value.ports[pair.to]!} /> },
                {
                  title: "Value",
                  numeric: true,
                  cell: (pair) =>
                    pair.failed !== "" ? (
                      <strong>{pair.failed}</strong>
                    ) : (
                      valueText(measure, pair.value)
                    ),
                },
                {
                  title: "Against the median",
                  numeric: true,
                  cell: (pair) =>
                    pair.failed !== "" ? (
                      <Value text="–" why="the probe failed" />
                    ) : (
                      `${(pair.value / pair.median).toFixed(2)} ×`
                    ),
                },
              ]}
            />
          </div>
        );
      })}
    </>
  );
}

export function CampaignPage({ id }: { id: string }) {
  const { identity } = useSession();
  const {
    value: campaign,
    error,
    reload,
  } = useLoad<Campaign>(
    `campaign ${id}`,
    (signal) => get<Campaign>(`/v1/campaigns/${encodeURIComponent(id)}`, {}, signal),
    ["campaign"],
    3000,
  );
  if (!campaign)
    return (
      <>
        <h1>Campaign {id}</h1>
        <Loading error={error} />
      </>
    );
  const running = campaign.state === "CAMPAIGN_STATE_RUNNING";
  return (
    <>
      <nav class="crumbs" aria-label="Path">
        <a href={hashOf(["campaigns"])}>Campaigns</a> / {id}
      </nav>
      <h1>
        Campaign {id} <CampaignState campaign={campaign} />
      </h1>
      <LoadError error={error} />
      <Facts
        rows={[
          ["Probes", <CampaignProgress campaign={campaign} />],
          ["OK", count(campaign.probes_ok)],
          ["Failed", count(campaign.probes_failed)],
          ["Cancelled", count(campaign.probes_cancelled)],
          ["Too slow", count(campaign.probes_below_expectation)],
          [
            "Rounds",
            `${count(campaign.rounds_done)} of ${count(campaign.rounds)}${campaign.rounds_saved ? `, ${count(campaign.rounds_saved)} saved` : ""}`,
          ],
          ["Started", dateTime(campaign.started_at)],
          [
            "Ended",
            campaign.ended_at ? (
              <>
                {dateTime(campaign.ended_at)} (<Age at={campaign.ended_at} />)
              </>
            ) : (
              <Value text="–" why="it runs" />
            ),
          ],
        ]}
      />
      {campaign.end_reason !== "" && <p class="error">Ended early: {campaign.end_reason}</p>}
      <p class="actions-row">
        <a class="button" href={hashOf(["campaigns", id, "matrix"])}>
          Pair matrix
        </a>
      </p>
      {running && mayOperate(identity) && (
        <Form
          danger
          label="Cancel campaign"
          submit={async () => {
            await post(`/v1/campaigns/${encodeURIComponent(id)}:cancel`);
            reload();
          }}
        />
      )}
      <Panel title="Fault location">
        <Blame report={campaign.blame} />
      </Panel>
      <Panel title="Worst pairs">
        <Worst id={id} running={running} />
      </Panel>
      <Panel title="Not probed">
        {campaign.skipped.length === 0 ? (
          <Empty>Everything that was requested was planned.</Empty>
        ) : (
          <Gaps gaps={campaign.skipped} />
        )}
      </Panel>
    </>
  );
}
