// Switches of an InfiniBand subnet by their level: leaves have adapters, and a level above is one
// cable further away from the nearest leaf. Pure.
import { byName } from "./format";
import type { SubnetNode } from "./subnet_snapshot";
import type { Finding, Suspect } from "./types";

export interface Cable {
  port: number;
  peer: string;
  peerPort: number;
  peerIsSwitch: boolean;
}

export interface Switch {
  name: string;
  level: number; // 1: leaf. 0: no path to a leaf
  cables: Cable[]; // By port
  adapters: number;
  switches: number; // Cables to other switches
  findings: Finding[]; // Open, about the switch or one of its cables
  suspects: Suspect[];
}

export interface Level {
  number: number;
  title: string;
  switches: Switch[];
}

function levelsOf(nodes: SubnetNode[]): number[] {
  const levels = nodes.map(() => 0);
  let border = nodes.flatMap((node, index) =>
    node.isSwitch && node.ports.some(({ peer }) => nodes[peer] && !nodes[peer].isSwitch)
      ? [index]
      : [],
  );
  for (let level = 1; border.length > 0; ++level) {
    for (const index of border) levels[index] = level;
    border = border
      .flatMap((index) => nodes[index]!.ports.map(({ peer }) => peer))
      .filter(
        (peer, at, all) => nodes[peer]?.isSwitch && levels[peer] === 0 && all.indexOf(peer) === at,
      );
  }
  return levels;
}

const titleOf = (level: number, top: number): string =>
  level === 0
    ? "Switches without a path to a leaf"
    : level === 1
      ? "Leaves"
      : level === top
        ? `Level ${level}, spines`
        : `Level ${level}`;

function switchOf(node: SubnetNode, level: number, nodes: SubnetNode[]): Switch {
  const cables = node.ports
    .filter(({ peer }) => nodes[peer])
    .map(({ number, peer, peerPort }) => ({
      port: number,
      peer: nodes[peer]!.name,
      peerPort,
      peerIsSwitch: nodes[peer]!.isSwitch,
    }))
    .sort((a, b) => a.port - b.port);
  const switches = cables.filter((one) => one.peerIsSwitch).length;
  return {
    name: node.name,
    level,
    cables,
    adapters: cables.length - switches,
    switches,
    findings: [],
    suspects: [],
  };
}

// The top level is the first, as in a drawing of the fabric.
export function makeLevels(
  nodes: SubnetNode[],
  findings: Finding[],
  suspects: Suspect[],
): Level[] {
  const levels = levelsOf(nodes);
  const switches = nodes.flatMap((node, index) =>
    node.isSwitch ? [switchOf(node, levels[index]!, nodes)] : [],
  );
  for (const one of switches) {
    one.findings = findings.filter(
      ({ subject, affected }) =>
        subject.switch_name === one.name ||
        (affected ?? []).some(({ switch_name }) => switch_name === one.name),
    );
    one.suspects = suspects.filter(({ name, leaf }) => name === one.name || leaf === one.name);
  }
  const top = Math.max(0, ...switches.map(({ level }) => level));
  return [...new Set(switches.map(({ level }) => level))]
    .sort((a, b) => b - a)
    .map((number) => ({
      number,
      title: titleOf(number, top),
      switches: switches
        .filter(({ level }) => level === number)
        .sort((a, b) => byName(a.name, b.name)),
    }));
}
