#include "agents/probe/admission.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "agents/probe/probe.h"
#include "agents/probe/spec.h"
#include "base/lists.h"
#include "base/text.h"
#include "proto/names.h"

namespace fabric::probe {
namespace {

// Whether this end can share its port with others of its kind.
bool Shares(const v1::ProbeAssignment& assignment) {
  const ProbeKind* const kind = FindProbeKind(ProbeKindName(assignment.spec()));
  return kind != nullptr && kind->shares_responder_port &&
         assignment.role() == v1::PROBE_ROLE_RESPONDER;
}

bool MayShare(const v1::ProbeAssignment& a, const v1::ProbeAssignment& b) {
  if (a.probe_id() == b.probe_id()) return a.role() != b.role();
  return Shares(a) && Shares(b) && a.spec().kind_case() == b.spec().kind_case();
}

Status CheckLimits(bool sharing, std::span<const RunningProbe* const> running,
                   const ProbeLimits& limits) {
  const auto count = std::count_if(running.begin(), running.end(), [&](const RunningProbe* probe) {
    return Shares(probe->assignment) == sharing;
  });
  if (count < (sharing ? limits.sharing_max : limits.probes_max)) return {};
  return {Code::kResourceExhausted,
          Format("limit reached: {} probes are running on this node", count)};
}

std::uint64_t MemoryOf(const v1::ProbeAssignment& assignment) {
  const ProbeNeeds needs =
      FindProbeKind(ProbeKindName(assignment.spec()))->needs(assignment.spec());
  if (const auto* const connections = std::get_if<host::RcOptions>(&needs))
    return connections->memory_bytes;
  constexpr std::uint64_t kHeaderBytes = 40;  // Global routing header, before each payload
  const auto& datagrams = std::get<host::UdOptions>(needs);
  const std::uint64_t buffers =
      std::uint64_t{datagrams.flows} * datagrams.receives_max + datagrams.sends_max;
  return buffers * (datagrams.payload_bytes_max + kHeaderBytes);
}

Status CheckMemory(const v1::ProbeAssignment& assignment,
                   std::span<const RunningProbe* const> running, const ProbeLimits& limits) {
  const std::uint64_t needed = MemoryOf(assignment);
  std::uint64_t used = 0;
  for (const RunningProbe* const probe : running) used += MemoryOf(probe->assignment);
  if (used + needed <= limits.memory_max) return {};
  return {Code::kResourceExhausted,
          Format("memory of all probes on this node: expected at most {} bytes, saw {} and {} "
                 "bytes of running probes",
                 limits.memory_max, needed, used)};
}

}  // namespace

std::uint64_t ProbeMemoryMax(std::optional<std::uint64_t> limit) {
  if (!limit) return Limit("probe_memory_bytes");
  return std::min(*limit / 100 * Limit("probe_memory_share_percent"), Limit("probe_memory_bytes"));
}

bool SamePort(const v1::ProbePort& a, const v1::ProbePort& b) {
  return a.device() == b.device() && a.port() == b.port();
}

SteadyTime DeadlineOf(const v1::ProbeAssignment& assignment, SteadyTime now) {
  return now + std::chrono::milliseconds(TimeoutMs(assignment.spec()));
}

Status CheckPolicy(const v1::ProbeAssignment& assignment, const ProbePolicy& policy) {
  const std::string kind(ProbeKindName(assignment.spec()));
  if (!policy.Permits(kind))
    return {Code::kPermissionDenied,
            Format("the setting probe-kinds of this node does not permit {}", kind)};
  if (policy.busy_devices) return {};
  const std::vector<std::string> users = policy.users(assignment.local().device());
  if (users.empty()) return {};
  return {Code::kPermissionDenied,
          Format("{} is in use by {}, and the setting probe-busy-devices of this node is off",
                 assignment.local().device(), ListSome(users, 3))};
}

Status Admit(const v1::ProbeAssignment& assignment, std::span<const RunningProbe* const> running,
             const ProbeLimits& limits) {
  const ProbeKind* kind = FindProbeKind(ProbeKindName(assignment.spec()));
  if (kind == nullptr) return {Code::kUnimplemented, "unknown probe kind"};
  RETURN_IF_ERROR(kind->check(assignment.spec()).In(kind->name));
  if (assignment.role() != v1::PROBE_ROLE_INITIATOR &&
      assignment.role() != v1::PROBE_ROLE_RESPONDER)
    return {Code::kInvalidArgument, "the probe has no role"};
  RETURN_IF_ERROR(CheckLimits(Shares(assignment), running, limits));
  RETURN_IF_ERROR(CheckMemory(assignment, running, limits));
  for (const RunningProbe* const probe : running)
    if (SamePort(probe->assignment.local(), assignment.local()) &&
        !MayShare(probe->assignment, assignment))
      return {Code::kUnavailable,
              Format("{}/{}: port busy with probe {}", assignment.local().device(),
                     assignment.local().port(), probe->assignment.probe_id())};
  return {};
}

bool IsFor(const RunningProbe& probe, std::uint64_t probe_id, v1::ProbeRole role) {
  return probe.assignment.probe_id() == probe_id &&
         (role == v1::PROBE_ROLE_UNSPECIFIED || role == probe.assignment.role());
}

Result<PortAddress> AddressFor(const v1::ProbeAssignment& assignment,
                               const std::optional<v1::RdmaDevice>& device) {
  const v1::ProbePort& local = assignment.local();
  const v1::QueuePairSettings& wanted = assignment.spec().queue_pair();
  if (!device) return Status(Code::kNotFound, Format("{}: no such RDMA device", local.device()));
  return ChooseAddress(*device, local.port(), GidIndexOf(wanted));
}

void NameLateEnd(const v1::ProbeAssignment& assignment, const Lateness& how,
                 v1::ProbeResult& result) {
  const bool through = result.status() == v1::PROBE_STATUS_OK;
  const bool responds = assignment.role() == v1::PROBE_ROLE_RESPONDER;
  if (result.status() != v1::PROBE_STATUS_TIMED_OUT && !(through && responds)) return;
  if (2 * how.stalled > how.elapsed) {
    using Seconds = std::chrono::duration<double>;
    result.set_blamed_node(assignment.local().node());
    result.set_reason(Format(
        "{}{}host starved: the probe's thread did not run for {:.1f} of {:.1f} s", result.reason(),
        through ? "" : "; ", Seconds(how.stalled).count(), Seconds(how.elapsed).count()));
  } else if (how.late == Late::kThisEnd) {
    result.set_blamed_node(assignment.local().node());
  } else if (how.late == Late::kPartner) {
    result.set_blamed_node(assignment.remote().node());
  }
}

void NameFailedEnd(const v1::ProbeAssignment& assignment, host::FailedBy by,
                   v1::ProbeResult& result) {
  if (result.status() != v1::PROBE_STATUS_FAILED || by == host::FailedBy::kNoAnswer) return;
  const bool here = by == host::FailedBy::kThisEnd;
  result.set_blamed_node(here ? assignment.local().node() : assignment.remote().node());
}

v1::ProbeOutcome Refusal(const v1::ProbeAssignment& assignment, const Status& why) {
  v1::ProbeOutcome outcome;
  outcome.set_probe_id(assignment.probe_id());
  outcome.set_role(assignment.role());
  outcome.mutable_result()->set_status(v1::PROBE_STATUS_REFUSED);
  outcome.mutable_result()->set_reason(why.message());
  outcome.mutable_result()->set_blamed_node(assignment.local().node());
  outcome.mutable_result()->set_port_busy(why.code() == Code::kUnavailable);
  return outcome;
}

v1::ProbeOutcome FinalOutcome(const RunningProbe& probe, v1::ProbeResult result, bool stopped) {
  v1::ProbeOutcome outcome;
  outcome.set_probe_id(probe.assignment.probe_id());
  outcome.set_role(probe.assignment.role());
  *outcome.mutable_result() = std::move(result);
  if (stopped && outcome.result().status() == v1::PROBE_STATUS_TIMED_OUT) {
    outcome.mutable_result()->set_status(v1::PROBE_STATUS_CANCELLED);
    outcome.mutable_result()->set_reason(
        Format("stopped: {}; {}", probe.stop_reason, outcome.result().reason()));
  }
  return outcome;
}

}  // namespace fabric::probe
