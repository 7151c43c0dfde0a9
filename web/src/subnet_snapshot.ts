// Snapshot of an InfiniBand subnet from its parts: one zstd frame with a message SubnetSnapshot
// (proto/fabric/v1/subnet.proto), of which only names and cables are read.
import { decompress } from "fzstd";
import { ApiError, get } from "./api";

export interface SubnetPort {
  number: number;
  peer: number; // Index of the node at the other end of the cable; -1: none
  peerPort: number;
}

export interface SubnetNode {
  name: string;
  isSwitch: boolean;
  ports: SubnetPort[];
}

interface SubnetPart {
  index: number;
  last: boolean;
  data: string; // base64
  digest: string;
}

const NODE_TYPE_SWITCH = 2;
const TRIES = 3;
const PARTS_MAX = 1000;

// Fields of one message: calls `onField` with the number, and the value of a varint or the bytes.
export function readFields(
  bytes: Uint8Array,
  onField: (field: number, value: number, part: Uint8Array) => void,
): void {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      if (at >= bytes.length) throw new Error("the snapshot ends within a field");
      const byte = bytes[at++]!;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  const none = new Uint8Array(0);
  while (at < bytes.length) {
    const tag = varint();
    const field = Math.floor(tag / 8);
    const type = tag % 8;
    if (type === 0) {
      onField(field, varint(), none);
      continue;
    }
    const size = type === 1 ? 8 : type === 5 ? 4 : type === 2 ? varint() : NaN;
    if (!(at + size <= bytes.length)) throw new Error("the snapshot is damaged");
    onField(field, 0, bytes.subarray(at, at + size));
    at += size;
  }
}

function readPort(bytes: Uint8Array): SubnetPort {
  const port: SubnetPort = { number: 0, peer: -1, peerPort: 0 };
  readFields(bytes, (field, value) => {
    if (field === 1) port.number = value;
    if (field === 2) port.peer = value - 1;
    if (field === 3) port.peerPort = value;
  });
  return port;
}

function readNode(bytes: Uint8Array): SubnetNode {
  const node: SubnetNode = { name: "", isSwitch: false, ports: [] };
  readFields(bytes, (field, value, part) => {
    if (field === 3) node.isSwitch = value === NODE_TYPE_SWITCH;
    if (field === 8) node.name = new TextDecoder().decode(part);
    if (field === 11) node.ports.push(readPort(part));
  });
  return node;
}

export function readSnapshot(encoded: Uint8Array): SubnetNode[] {
  const nodes: SubnetNode[] = [];
  readFields(encoded, (field, _, part) => {
    if (field === 11) nodes.push(readNode(part));
  });
  return nodes;
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
}

async function frameOf(name: string, signal: AbortSignal): Promise<Uint8Array> {
  const path = `/v1/subnets/${encodeURIComponent(name)}/snapshot`;
  const parts: Uint8Array[] = [];
  for (let index = 0, digest = "0"; index < PARTS_MAX; ++index) {
    const part = await get<SubnetPart>(path, { index, digest }, signal);
    parts.push(bytesOf(part.data));
    digest = part.digest;
    if (part.last) break;
  }
  const frame = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (frame.set(part, at), at + part.length), 0);
  return frame;
}

// Begins again when the subnet was read again meanwhile.
export async function loadSnapshot(name: string, signal: AbortSignal): Promise<SubnetNode[]> {
  for (let left = TRIES; ; --left) {
    try {
      return readSnapshot(decompress(await frameOf(name, signal)));
    } catch (error) {
      const again = error instanceof ApiError && /was read again/.test(error.message);
      if (!again || left === 1) throw error;
    }
  }
}
