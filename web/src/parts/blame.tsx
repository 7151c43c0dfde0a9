// What blame found: suspects with their evidence.
import { count, word } from "../format";
import type { BlameReport, Suspect } from "../types";
import { Empty } from "./basics";
import { hashOf } from "../router";

const STATES: Record<string, string> = {
  BLAME_STATE_HEALTHY: "No fault found.",
  BLAME_STATE_DECIDED: "Each fault has one suspect.",
  BLAME_STATE_UNDECIDED: "Some suspects cannot be distinguished yet.",
  BLAME_STATE_INSUFFICIENT_DATA: "Not enough results to locate a fault.",
};

function SuspectItem({ suspect }: { suspect: Suspect }) {
  return (
    <li>
      <strong>{suspect.name}</strong>{" "}
      <span class="muted">
        {word(suspect.kind, "SUSPECT_KIND")}, {word(suspect.fault, "FAULT_KIND")}, confidence{" "}
        {suspect.confidence.toFixed(2)}
      </span>
      {suspect.expected !== "" && (
        <div>
          expected {suspect.expected}, saw {suspect.seen}
        </div>
      )}
      <ul class="plain">
        {suspect.evidence.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      {suspect.findings.length > 0 && (
        <div>
          Findings:{" "}
          {suspect.findings.map((id) => (
            <a key={id} href={hashOf(["findings", id])}>
              {id}{" "}
            </a>
          ))}
        </div>
      )}
    </li>
  );
}

export function Blame({ report }: { report: BlameReport | undefined }) {
  if (!report || report.state === "BLAME_STATE_UNSPECIFIED") return <Empty>No report yet.</Empty>;
  return (
    <>
      <p>
        {STATES[report.state] ?? word(report.state, "BLAME_STATE")}{" "}
        <span class="muted">{count(report.observations)} observations.</span>
      </p>
      {report.suspects.length > 0 && (
        <ul class="suspects">
          {report.suspects.map((one) => (
            <SuspectItem key={one.name} suspect={one} />
          ))}
        </ul>
      )}
      {report.undecided.map((group, index) => (
        <div key={index}>
          <h3>Candidates, not yet distinguishable</h3>
          <ul class="suspects">
            {group.suspects.map((one) => (
              <SuspectItem key={one.name} suspect={one} />
            ))}
          </ul>
        </div>
      ))}
    </>
  );
}
