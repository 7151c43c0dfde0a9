#include "agents/probe/runner.h"

#include <algorithm>
#include <utility>

#include "agents/probe/numbers.h"
#include "agents/probe/port_choice.h"
#include "base/text.h"
#include "proto/names.h"

namespace fabric::probe {
namespace {

v1::ProbeEndpoint ToProto(const host::RcEndpoint& endpoint) {
  v1::ProbeEndpoint proto;
  proto.set_queue_pair_number(endpoint.queue_pair_number);
  proto.set_packet_sequence_number(endpoint.packet_sequence_number);
  proto.set_gid(endpoint.gid);
  proto.set_gid_index(endpoint.gid_index);
  proto.set_lid(endpoint.lid);
  proto.set_active_mtu_bytes(endpoint.active_mtu_bytes);
  proto.set_remote_address(endpoint.remote_address);
  proto.set_remote_key(endpoint.remote_key);
  proto.set_memory_bytes(endpoint.memory_bytes);
  return proto;
}

host::RcEndpoint FromProto(const v1::ProbeEndpoint& proto) {
  return {.queue_pair_number = proto.queue_pair_number(),
          .packet_sequence_number = proto.packet_sequence_number(),
          .gid = proto.gid(),
          .gid_index = proto.gid_index(),
          .lid = proto.lid(),
          .active_mtu_bytes = proto.active_mtu_bytes(),
          .remote_address = proto.remote_address(),
          .remote_key = proto.remote_key(),
          .memory_bytes = proto.memory_bytes()};
}

bool SamePort(const v1::ProbePort& a, const v1::ProbePort& b) {
  return a.device() == b.device() && a.port() == b.port();
}

}  // namespace

ProbeRunner::ProbeRunner(RunnerOptions options, host::Verbs& verbs, const Clock& clock,
                         FindDevice find_device, ProbeReports& reports)
    : options_(std::move(options)),
      verbs_(verbs),
      clock_(clock),
      find_device_(std::move(find_device)),
      reports_(reports) {}

ProbeRunner::~ProbeRunner() {
  StopAll("the agent stops");
  std::list<Probe> probes;
  {
    MutexLock lock(mutex_);
    probes.swap(probes_);
  }  // Joined without the lock, which their threads still take.
}

void ProbeRunner::Start(const v1::ProbeAssignment& assignment) {
  std::list<Probe> finished;  // Joined when this function ends, without the lock.
  Status admitted;
  {
    MutexLock lock(mutex_);
    finished = TakeFinished();
    admitted = Admit(assignment);
    if (admitted.ok()) {
      Probe& probe = probes_.emplace_back();
      probe.assignment = assignment;
      probe.deadline =
          clock_.Now().steady + std::chrono::milliseconds(TimeoutMs(assignment.spec()));
      probe.thread =
          std::jthread([this, &probe](std::stop_token stop) { Run(probe, std::move(stop)); });
    }
  }
  if (!admitted.ok()) Refuse(assignment, admitted);
}

Status ProbeRunner::Admit(const v1::ProbeAssignment& assignment) {
  const ProbeKind* kind = FindProbeKind(ProbeKindName(assignment.spec()));
  if (kind == nullptr)
    return {Code::kUnimplemented, "this agent does not know the kind of the probe"};
  RETURN_IF_ERROR(kind->check(assignment.spec()).In(kind->name));
  if (assignment.role() != v1::PROBE_ROLE_INITIATOR &&
      assignment.role() != v1::PROBE_ROLE_RESPONDER)
    return {Code::kInvalidArgument, "the probe has no role"};
  if (probes_.size() >= options_.probes_max)
    return {Code::kResourceExhausted, Format("{} probes are running here", probes_.size())};
  for (const Probe& probe : probes_)
    if (SamePort(probe.assignment.local(), assignment.local()))
      return {Code::kUnavailable,
              Format("{}/{}: port busy with probe {}", assignment.local().device(),
                     assignment.local().port(), probe.assignment.probe_id())};
  return {};
}

std::list<ProbeRunner::Probe> ProbeRunner::TakeFinished() {
  std::list<Probe> finished;
  for (auto at = probes_.begin(); at != probes_.end();) {
    const auto probe = at++;
    if (probe->finished) finished.splice(finished.end(), probes_, probe);
  }
  return finished;
}

void ProbeRunner::Refuse(const v1::ProbeAssignment& assignment, const Status& why) {
  v1::ProbeOutcome outcome;
  outcome.set_probe_id(assignment.probe_id());
  outcome.mutable_result()->set_status(v1::PROBE_STATUS_REFUSED);
  outcome.mutable_result()->set_reason(why.message());
  outcome.mutable_result()->set_blamed_node(assignment.local().node());
  reports_.Outcome(outcome);
}

void ProbeRunner::Continue(const v1::ProbeStart& start) {
  MutexLock lock(mutex_);
  for (Probe& probe : probes_)
    if (probe.assignment.probe_id() == start.probe_id()) probe.remote = start.remote();
  changed_.notify_all();
}

void ProbeRunner::Stop(const v1::ProbeStop& stop) {
  MutexLock lock(mutex_);
  for (Probe& probe : probes_) {
    if (probe.assignment.probe_id() != stop.probe_id() || probe.finished) continue;
    probe.stop_reason = stop.reason();
    probe.thread.request_stop();
  }
}

void ProbeRunner::StopAll(const std::string& reason) {
  MutexLock lock(mutex_);
  for (Probe& probe : probes_) {
    probe.stop_reason = reason;
    probe.thread.request_stop();
  }
}

void ProbeRunner::Run(Probe& probe, std::stop_token stop) {
  v1::ProbeOutcome outcome;
  outcome.set_probe_id(probe.assignment.probe_id());
  *outcome.mutable_result() = Attempt(probe, stop);
  {
    // The port is free before the controller hears the outcome: it may assign the next probe.
    MutexLock lock(mutex_);
    probe.finished = true;
    if (stop.stop_requested() && outcome.result().status() == v1::PROBE_STATUS_TIMED_OUT) {
      outcome.mutable_result()->set_status(v1::PROBE_STATUS_CANCELLED);
      outcome.mutable_result()->set_reason(
          Format("stopped: {}; {}", probe.stop_reason, outcome.result().reason()));
    }
  }
  reports_.Outcome(outcome);
}

v1::ProbeResult ProbeRunner::Attempt(Probe& probe, const std::stop_token& stop) {
  v1::ProbeResult result;
  const ProbeKind& kind = *FindProbeKind(ProbeKindName(probe.assignment.spec()));
  const auto fail = [&](v1::ProbeStatus status, const Status& why) {
    result.set_status(status);
    result.set_reason(why.message());
    return result;
  };
  auto queue_pair = Open(probe, kind, result);
  if (!queue_pair.ok()) return fail(result.status(), queue_pair.status());

  v1::ProbeReady ready;
  ready.set_probe_id(probe.assignment.probe_id());
  *ready.mutable_endpoint() = ToProto((*queue_pair)->local());
  reports_.Ready(ready);

  v1::ProbeEndpoint remote;
  if (Status status = AwaitRemote(probe, stop, remote); !status.ok())
    return fail(v1::PROBE_STATUS_TIMED_OUT, status);
  result.set_path_mtu_bytes(
      std::min(remote.active_mtu_bytes(), (*queue_pair)->local().active_mtu_bytes));
  if (remote.memory_bytes() < (*queue_pair)->local().memory_bytes)
    return fail(v1::PROBE_STATUS_SETUP_FAILED,
                Status(Code::kFailedPrecondition,
                       Format("the partner has {} bytes of memory, expected {}",
                              remote.memory_bytes(), (*queue_pair)->local().memory_bytes)));
  Status connected =
      (*queue_pair)->Connect(FromProto(remote), probe.assignment.spec().traffic_class());
  if (!connected.ok()) return fail(v1::PROBE_STATUS_SETUP_FAILED, connected);
  Execute(probe, kind, **queue_pair, stop, result);
  return result;
}

Result<std::unique_ptr<host::RcQueuePair>> ProbeRunner::Open(const Probe& probe,
                                                             const ProbeKind& kind,
                                                             v1::ProbeResult& result) {
  const v1::ProbePort& local = probe.assignment.local();
  result.set_status(v1::PROBE_STATUS_REFUSED);
  result.set_blamed_node(local.node());
  const std::optional<v1::RdmaDevice> device = find_device_(local.device());
  if (!device) return Status(Code::kNotFound, Format("{}: no such RDMA device", local.device()));
  ASSIGN_OR_RETURN(const PortAddress address, ChooseAddress(*device, local.port()));

  host::RcOptions wanted = kind.needs(probe.assignment.spec());
  wanted.device = local.device();
  wanted.port = local.port();
  wanted.gid_index = address.gid_index;
  auto queue_pair = verbs_.OpenRc(wanted);
  if (queue_pair.ok() && (*queue_pair)->local().gid != address.gid)
    return Status(Code::kUnavailable,
                  Format("{}/{}: GID {} has changed from {} to {}", local.device(), local.port(),
                         address.gid_index, address.gid, (*queue_pair)->local().gid));
  if (!queue_pair.ok()) {
    result.set_status(v1::PROBE_STATUS_SETUP_FAILED);
    return queue_pair;
  }
  result.clear_status();
  result.clear_blamed_node();
  return queue_pair;
}

Status ProbeRunner::AwaitRemote(Probe& probe, const std::stop_token& stop,
                                v1::ProbeEndpoint& remote) {
  Sleep(probe, stop, [&] { return probe.remote.has_value(); });
  MutexLock lock(mutex_);
  if (!probe.remote)
    return {Code::kDeadlineExceeded, "the controller did not send the partner's endpoint"};
  remote = *probe.remote;
  return {};
}

void ProbeRunner::Execute(Probe& probe, const ProbeKind& kind, host::RcQueuePair& queue_pair,
                          const std::stop_token& stop, v1::ProbeResult& result) {
  ProbeRun run{
      .spec = probe.assignment.spec(),
      .queue_pair = queue_pair,
      .clock = clock_,
      .stopped = [&] { return stop.stop_requested() || clock_.Now().steady >= probe.deadline; },
      .await_stop = [&] { Sleep(probe, stop, [] { return false; }); },
  };
  if (probe.assignment.role() == v1::PROBE_ROLE_INITIATOR) return kind.initiate(run, result);
  v1::ProbeArmed armed;
  armed.set_probe_id(probe.assignment.probe_id());
  reports_.Armed(armed);
  kind.respond(run, result);
}

void ProbeRunner::Sleep(const Probe& probe, const std::stop_token& stop,
                        const std::function<bool()>& ready) {
  MutexLock lock(mutex_);
  while (!stop.stop_requested() && !ready()) {
    const Duration left = probe.deadline - clock_.Now().steady;
    if (left <= Duration::zero()) return;
    changed_.wait_for(lock, stop, left, ready);
  }
}

}  // namespace fabric::probe
