// Messages of the API as JSON, as far as the page uses them (docs/reference/API.md). Fields that can
// be absent are optional.

export interface NodeSummary {
  name: string;
  state: string;
  state_since: string;
  reported_at: string;
  devices: number;
  ports_active?: number;
  ports: number;
  gpus: number;
  findings_open: number;
  gaps: number;
  kernel_release: string;
  agent_version: string;
  lost_reason: string;
  maintenance: string;
  labels?: Record<string, string>;
}

export interface DeviceSummary {
  node: string;
  rail?: number;
  device: string;
  port: number;
  netdev: string;
  protocol: string;
  state: string;
  physical_state: string;
  rate_bps?: string;
  active_mtu_bytes?: number;
  netdev_mtu_bytes?: number;
  pfc_enabled_mask?: number;
  trust: string;
  gid: string;
  gid_index?: number;
  driver: string;
  firmware: string;
  pci_address: string;
  rail_source: string;
  leaf?: string;
  leaf_port?: string;
}

export interface Subject {
  scope: string;
  node: string;
  device: string;
  port: number;
  netdev: string;
  rail?: number;
  switch_name: string;
  switch_port: string;
}

export interface Evidence {
  what: string;
  expected: string;
  seen: string;
  source: string;
  basis: string;
  read_at?: string;
}

export interface Remedy {
  platform: string;
  command: string;
  note: string;
  affects: string;
  weakens_isolation: boolean;
  interrupts: string;
  persistence: string;
  persist: string;
  undo: string;
  host: string;
}

export interface Suspect {
  kind: string;
  name: string;
  node: string;
  device: string;
  port: number;
  rail?: number;
  leaf: string;
  fault: string;
  confidence: number;
  evidence: string[];
  findings: string[];
  affected_pairs: string[];
  affected_pairs_total: number;
  expected: string;
  seen: string;
}

export interface BlameReport {
  state: string;
  suspects: Suspect[];
  undecided: { suspects: Suspect[] }[];
  observations: number;
  not_covered: CoverageGap[];
}

export interface CoverageGap {
  reason: string;
  text: string;
  node: string;
  device: string;
  port: number;
  rule: string;
}

export interface Finding {
  id: string;
  rule: string;
  verdict: string;
  severity: string;
  subject: Subject;
  title: string;
  evidence: Evidence[];
  remedies: Remedy[];
  state: string;
  opened_at: string;
  changed_at: string;
  resolved_at?: string;
  explains: string[];
  explained_by: string;
  acknowledged?: { author: string; note: string; at: string };
  silenced?: Silence;
  flapping: boolean;
  openings: number;
  expired_reason: string;
  affected: Subject[];
  affected_total: number;
  suspect?: Suspect;
  located_by: string;
  common_cause: boolean;
}

export interface FindingRecord {
  at: string;
  action: string;
  title: string;
  author: string;
  note: string;
}

export interface Silence {
  id: string;
  finding: string;
  rule: string;
  node: string;
  author: string;
  reason: string;
  created_at: string;
  until: string;
  maintenance: boolean;
}

export interface ScheduleRun {
  campaign: string;
  started_at: string;
  ended_at?: string;
}

export interface Schedule {
  id: string;
  cron: string;
  spec?: CampaignSpec;
  runs_per_day: number;
  minutes_per_day: number;
  author: string;
  created_at: string;
  next_run_at?: string;
  runs: ScheduleRun[];
  runs_total: string;
  skipped_reason: string;
}

export interface FigureSeries {
  name: string;
  bandwidth_bps: number[];
  latency_us: number[];
}

export interface ScheduleRecord {
  schedule: Schedule;
  ports: FigureSeries[];
  pairs: FigureSeries[];
}

export interface VerdictCounts {
  pass: number;
  fail: number;
  unknown: number;
}

export interface RuleInfo {
  id: string;
  title: string;
  severity: string;
  scope: string;
  why: string;
  source: string;
  family: string;
  needs: string;
  profile_values: string[];
  fix: string;
}

export interface CampaignSpec {
  probes: Record<string, unknown>[];
  nodes: string[];
  rails: number[];
  pattern: string;
  hub: string;
  until_decided: boolean;
  preset: string;
}

export interface Campaign {
  id: string;
  spec?: CampaignSpec;
  state: string;
  started_at: string;
  ended_at?: string;
  rounds: number;
  rounds_done: number;
  rounds_saved: number;
  probes_planned: number;
  probes_ok: number;
  probes_failed: number;
  probes_cancelled: number;
  probes_below_expectation: number;
  probes_lossy: number;
  remaining_seconds?: number;
  blame?: BlameReport;
  skipped: CoverageGap[];
  findings: string[];
  nodes_requested: number;
  end_reason: string;
  results_total?: string;
}

export interface ProbePort {
  node: string;
  device: string;
  port: number;
  rail: number;
}

export interface CertifiedNode {
  name: string;
  verdict: string;
  reasons: string[];
  findings: string[];
  ports: number;
  evidence: string[];
}

export interface Certificate {
  id: string;
  state: string;
  request: { nodes: string[]; rails: number[]; job_id: string; within_seconds: number };
  verdict: string;
  evidence: string[];
  nodes: CertifiedNode[];
  rails: number[];
  pairs_probed: number;
  pairs_failed: number;
  pairs_possible: number;
  not_covered: CoverageGap[];
  not_covered_omitted: number;
  blame?: BlameReport;
  campaign: string;
  started_at: string;
  issued_at?: string;
  expires_at?: string;
  issuer: string;
  end_reason: string;
}

export interface AuditEntry {
  sequence: string; // uint64
  time: string;
  identity: string;
  credential: string;
  address: string;
  method: string;
  target: string;
  outcome: string;
  reason: string;
  request: string;
  hash: string;
}
export interface AuditVerification {
  entries: string;
  first_sequence: string;
  last_sequence: string;
  last_hash: string;
  broken_sequence: string; // "0": intact
  broken_reason: string;
}
export interface Identity {
  name: string;
  roles: string[];
  credential: string;
  expires_at?: string;
}

export interface Counter {
  name: string;
  value: string;
  saturated: boolean;
  unit: string;
  neutral?: string;
}

export interface CounterSet {
  device: string;
  port: number;
  netdev: string;
  counters: Counter[];
}

export interface NodeSnapshot {
  taken_at?: string;
  counters: CounterSet[];
  gaps: { inspector: string; subject: string; path: string; code: string; reason: string }[];
  gpus: { pci_address: string; driver: string }[];
  host?: { product?: string; distribution?: string };
}

export interface Difference {
  path: string;
  before: string;
  after: string;
  counter: boolean;
  changed_at?: string;
}

export interface CounterHistory {
  ended_at: string[];
  ports: {
    device: string;
    port: number;
    series: { name: string; windows: number[]; per_second: number[] }[];
  }[];
  reason: string;
}

export interface FabricEvent {
  sequence: string;
  at: string;
  cursor: string;
  node?: NodeSummary;
  finding?: Finding;
  campaign?: Campaign;
  pair_result?: unknown;
  port?: PortEvent;
  ports?: { node: string; ports: PortEvent[]; total: number };
  subnet?: { subnet: string; changes: SubnetChange[]; total: number };
  node_action?: { id: string; kind: string; node: string; state: string; reason: string };
  gap?: { reason: string };
}

export interface SubnetChange {
  kind: string;
  before: string;
  now: string;
  flaps: number;
}

export interface SubnetHistoryEntry {
  change: SubnetChange;
  first_at: string;
  last_at: string;
  times: number;
}

export interface SubnetHistory {
  subnet: string;
  entries: SubnetHistoryEntry[];
}

export interface SubnetInfo {
  name: string;
  source: string;
  read_at?: string;
  switches: number;
  adapters: number;
  cables: number;
  problem: string;
  message_bytes: string; // "0": from files
  port_errors: SubnetPortErrors[];
}

export interface SubnetPortErrors {
  switch_name: string;
  port: number;
  peer: string;
  seconds: number;
  counts: { counter: string; increase: string }[];
}

export interface PortEvent {
  node: string;
  device: string;
  port: number;
  before: string;
  after: string;
}

export interface MeshStatus {
  enabled: boolean;
  reason: string;
  ports: number;
  blame?: BlameReport;
  updated_at?: string;
}
