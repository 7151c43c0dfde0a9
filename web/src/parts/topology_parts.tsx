// Parts of the topology page: the box of a switch, and a list of suspects.
import { word } from "../format";
import type { Suspect } from "../types";

interface Box {
  name: string;
  about: string; // "16 ports"
  suspects: number;
  findings: number;
  notActive: number;
  open: boolean;
  onOpen(): void;
}

const several = (number: number, noun: string): string =>
  `${number} ${noun}${number > 1 ? "s" : ""}`;

export function SwitchBox({ name, about, suspects, findings, notActive, open, onOpen }: Box) {
  const bad = suspects > 0 ? "suspect" : findings > 0 || notActive > 0 ? "finding" : "";
  const marks = [
    suspects > 0 ? `◆ ${several(suspects, "suspect")}` : "",
    findings > 0 ? `▲ ${several(findings, "finding")}` : "",
    notActive > 0 ? `✕ ${notActive} not active` : "",
  ].filter(Boolean);
  return (
    <button type="button" class={`leaf ${bad}`} aria-expanded={open} onClick={onOpen}>
      <span class="name">{name}</span>
      <span class="muted">{about}</span>
      {marks.map((mark) => (
        <span key={mark} class="mark">
          {mark}
        </span>
      ))}
    </button>
  );
}

export function Suspects({ title, suspects }: { title: string; suspects: Suspect[] }) {
  if (suspects.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="suspects">
        {suspects.map((one) => (
          <li key={one.name}>
            <strong>{one.name}</strong>{" "}
            <span class="muted">
              {word(one.kind, "SUSPECT_KIND")}, {word(one.fault, "FAULT_KIND")}, confidence{" "}
              {one.confidence.toFixed(2)}
            </span>
            <ul class="plain">
              {one.evidence.map((line) => (
                <li key={line}>{line}</li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </>
  );
}
