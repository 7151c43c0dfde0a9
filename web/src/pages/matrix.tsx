// Pair matrix of a campaign as a heat map.
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, list } from "../api";
import { Empty, LoadError, Loading, PortLink } from "../parts/basics";
import { HeatMap } from "../heatmap/heatmap";
import { PORTS_MAX, makeMatrix, portName, worstPorts, type Order } from "../heatmap/matrix";
import { EMPTY, FAILED, STEPS, css, makePalette } from "../heatmap/palette";
import { MEASURES, largerIsBetter, readResults, type Results } from "../heatmap/results";
import { count } from "../format";
import { hashOf, setQuery, type Route } from "../router";
import { useLoad } from "../session";
import type { Campaign, DeviceSummary, ProbePort } from "../types";
import { valueText } from "./campaign";

const WORST = 10;

function Legend({ low, high, measure }: { low: number; high: number; measure: number }) {
  const palette = makePalette(false);
  const shown = 48;
  const better = largerIsBetter(measure);
  return (
    <div class="legend">
      <span>
        {valueText(measure, low)}
        {better ? " (bad)" : ""}
      </span>
      <svg
        viewBox={`0 0 ${shown} 1`}
        preserveAspectRatio="none"
        shape-rendering="crispEdges"
        role="img"
        aria-label={`Colour scale from ${valueText(measure, low)}, dark, to ${valueText(measure, high)}, bright`}
      >
        {Array.from({ length: shown }, (_, index) => (
          <rect
            key={index}
            x={index}
            width={1.1}
            height={1}
            fill={css(palette[Math.round((index / (shown - 1)) * (STEPS - 1))]!)}
          />
        ))}
      </svg>
      <span>
        {valueText(measure, high)}
        {better ? "" : " (bad)"}
      </span>
      <span class="swatch">
        <svg viewBox="0 0 12 12" aria-hidden="true">
          <rect width="12" height="12" fill={css(palette[FAILED]!)} />
          <path d="M2 2l8 8M10 2l-8 8" stroke="#fff" stroke-width="2" />
        </svg>
        failed
      </span>
      <span class="swatch">
        <svg viewBox="0 0 12 12" aria-hidden="true">
          <rect width="12" height="12" fill={css(palette[EMPTY]!)} stroke="#888" />
        </svg>
        no result
      </span>
    </div>
  );
}

const REREAD_MS = 5000; // While the campaign runs; longer if reading takes long

const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => clearTimeout(timer));
  });

interface Read {
  results?: Results;
  error: string;
  cells: number; // Read so far, before the first results
  running: boolean;
}

// The results, again and again while the campaign runs.
function useResults(id: string): Read {
  const [state, setState] = useState<Read>({ error: "", cells: 0, running: false });
  useEffect(() => {
    const end = new AbortController();
    let shownAt = 0;
    const onProgress = (cells: number) => {
      if (Date.now() - shownAt < 200) return;
      shownAt = Date.now();
      setState((before) => (before.results ? before : { ...before, cells }));
    };
    const follow = async () => {
      for (let running = true; running && !end.signal.aborted; ) {
        const startedAt = Date.now();
        // The state before the results: those of a campaign that has ended are complete.
        const path = `/v1/campaigns/${encodeURIComponent(id)}`;
        const campaign = await get<Campaign>(path, {}, end.signal);
        running = campaign.state === "CAMPAIGN_STATE_RUNNING";
        const results = await readResults(id, "", end.signal, onProgress);
        setState({ results, error: "", cells: 0, running });
        if (running)
          await pause(Math.max(REREAD_MS, 5 * (Date.now() - startedAt)), end.signal);
      }
    };
    setState({ error: "", cells: 0, running: false });
    follow().catch((error: unknown) => {
      if (end.signal.aborted) return;
      const text = error instanceof Error ? error.message : String(error);
      setState((before) => ({ ...before, error: text, cells: 0, running: false }));
    });
    return () => end.abort();
  }, [id]);
  return state;
}

function Choice({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: [string, string][];
  onChange(value: string): void;
}) {
  return (
    <label class="check">
      {label}{" "}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

export function MatrixPage({ id, route }: { id: string; route: Route }) {
  const { results, error, cells, running } = useResults(id);
  const { value: devices } = useLoad(
    "matrix leaves",
    (signal) =>
      list<DeviceSummary>(
        "/v1/devices",
        "devices",
        { fields: "node,device,port,leaf" },
        80_000,
        signal,
      ),
    [],
    3_600_000,
  );
  const leaves = useMemo(
    () =>
      new Map(
        (devices?.items ?? []).map((one) => [
          `${one.node}/${one.device}/${one.port}`,
          one.leaf ?? "",
        ]),
      ),
    [devices],
  );
  const measures = results ? [...results.cells.keys()].sort() : [];
  const measure = Number(route.query.measure ?? measures[0] ?? 0);
  const order = (route.query.sort ?? "rail") as Order;
  const rails = useMemo(
    () => [...new Set(results?.ports.map((port) => port.rail) ?? [])].sort((a, b) => a - b),
    [results],
  );
  const mirror = route.query.mirror !== "0";
  const rail = route.query.rail === undefined ? undefined : Number(route.query.rail);
  const matrix = useMemo(
    () =>
      results &&
      makeMatrix(results, measure, (port: ProbePort) => leaves.get(portName(port)) ?? "", {
        order,
        rail,
        mirror,
      }),
    [results, measure, order, rail, mirror, leaves],
  );
  const worst = useMemo(
    () => (results ? worstPorts(results, measure, rail, WORST) : []),
    [results, measure, rail],
  );
  const nameOf = (number: number) =>
    (Object.entries(MEASURES).find(([, one]) => one === number)?.[0] ?? "results").replace(
      "_",
      " ",
    );
  return (
    <>
      <nav class="crumbs" aria-label="Path">
        <a href={hashOf(["campaigns"])}>Campaigns</a> / <a href={hashOf(["campaigns", id])}>{id}</a>{" "}
        / matrix
      </nav>
      <h1>
        Pair matrix of {id} {matrix && <small>{count(matrix.size)} ports</small>}
        {running && <small> · the campaign runs; results are read again</small>}
      </h1>
      <LoadError error={error} />
      {!results &&
        error === "" &&
        (cells > 0 ? <p role="status">{count(cells)} results read…</p> : <Loading />)}
      {results && !results.complete && (
        <p class="error" role="alert">
          The answer ended early: the matrix is incomplete.
        </p>
      )}
      {results && (
        <div class="toolbar">
          <Choice
            label="Measure"
            value={String(measure)}
            options={measures.map((one) => [String(one), nameOf(one)])}
            onChange={(value) => setQuery(route, { measure: value })}
          />
          <Choice
            label="Sort by"
            value={order}
            options={[
              ["rail", "rail"],
              ["leaf", "leaf"],
              ["blame", "blame: worst first"],
            ]}
            onChange={(value) => setQuery(route, { sort: value })}
          />
          <Choice
            label="Rail"
            value={route.query.rail ?? ""}
            options={[
              ["", "all"],
              ...rails.map((one): [string, string] => [String(one), String(one)]),
            ]}
            onChange={(value) => setQuery(route, { rail: value })}
          />
          <label class="check">
            <input
              type="checkbox"
              checked={mirror}
              onChange={(event) =>
                setQuery(route, { mirror: event.currentTarget.checked ? undefined : "0" })
              }
            />
            fill both directions
          </label>
        </div>
      )}
      {results && measures.length === 0 && <Empty>The campaign has no results yet.</Empty>}
      {results && measures.length > 0 && !matrix && (
        <Empty>The matrix has more than {count(PORTS_MAX)} ports. Choose a rail.</Empty>
      )}
      {matrix && measures.length > 0 && (
        <>
          {Number.isNaN(matrix.low) ? (
            <Empty>Nothing was measured: each probe failed.</Empty>
          ) : (
            <Legend low={matrix.low} high={matrix.high} measure={measure} />
          )}
          <HeatMap
            matrix={matrix}
            text={(value) => valueText(measure, value)}
            label={`Heat map of ${nameOf(measure)}, ${matrix.size} by ${matrix.size} ports. The campaign's page lists the worst pairs as a table.`}
          >
            <h2>Worst ports</h2>
            <ol class="worst">
              {worst.map(({ port, against }) => (
                <li key={portName(port)}>
                  <PortLink {...port} />{" "}
                  <span class="muted">
                    {against.toFixed(2)} × the median
                    {leaves.get(portName(port)) && `, ${leaves.get(portName(port))}`}
                  </span>
                </li>
              ))}
            </ol>
          </HeatMap>
        </>
      )}
    </>
  );
}
