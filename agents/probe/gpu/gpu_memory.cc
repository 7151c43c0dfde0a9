// RDMA writes between the memories of GPUs. Both ends register memory of their GPUs in both ways
// before they hear of each other; the responder lays open what came of it in its own memory, where
// the initiator reads it. Then each GPU of the initiator writes to one of the responder, in each
// way that both have, over a queue pair of its own: one that fails ends no other.
#include <algorithm>
#include <map>
#include <optional>

#include "agents/probe/burst.h"
#include "agents/probe/gpu/gpu_regions.h"
#include "agents/probe/polling.h"
#include "agents/probe/probe.h"
#include "agents/probe/spec.h"
#include "base/text.h"
#include "proto/probe_kinds.h"

namespace fabric::probe {
namespace {

constexpr std::uint32_t kGpuMemoryMessageBytesMax = 64 << 20;
constexpr std::uint32_t kGpuMemoryIterationsMax = 100'000;
constexpr std::uint32_t kGpuMemoryQueueDepthMax = 1024;

struct GpuMemoryPlan {
  std::uint32_t message_bytes;
  std::uint32_t iterations;
  std::uint32_t depth;
};

GpuMemoryPlan GpuMemoryPlanOf(const v1::ProbeSpec& spec) {
  const v1::GpuMemory& wanted = spec.gpu_memory();
  return {.message_bytes = NumberOf(wanted, "message_bytes"),
          .iterations = NumberOf(wanted, "iterations"),
          .depth = NumberOf(wanted, "queue_depth")};
}

Status CheckGpuMemory(const v1::ProbeSpec& spec) {
  const GpuMemoryPlan plan = GpuMemoryPlanOf(spec);
  RETURN_IF_ERROR(CheckCommon(spec));
  RETURN_IF_ERROR(CheckBound({"message_bytes", plan.message_bytes, 1, kGpuMemoryMessageBytesMax}));
  RETURN_IF_ERROR(CheckBound({"iterations", plan.iterations, 1, kGpuMemoryIterationsMax}));
  RETURN_IF_ERROR(CheckBound({"queue_depth", plan.depth, 1, kGpuMemoryQueueDepthMax}));
  const int gpus = spec.gpu_memory().gpus_size();
  return CheckBound({"gpus", static_cast<std::uint32_t>(gpus), 0, kGpusMax});
}

// The own table, and where that of the other end is read into.
ProbeNeeds NeedsGpuMemory(const v1::ProbeSpec& spec) {
  return host::RcOptions{.queue_pairs = kGpusMax * kGpuWays,
                         .memory_bytes = 2 * kGpuTableBytes,
                         .send_queue_depth = GpuMemoryPlanOf(spec).depth};
}

Status PrepareGpuMemory(ProbeRun& run) {
  if (run.gpus.memory == nullptr || !run.gpus.find)
    return {Code::kFailedPrecondition,
            "gpu_memory needs access to GPUs, which this agent does not have"};
  const NodeGpus node = run.gpus.find();
  // Those that are named are the initiator's.
  const auto& named = run.spec.gpu_memory().gpus();
  const std::vector<std::string> wanted(named.begin(), named.end());
  ASSIGN_OR_RETURN(
      const std::vector<v1::Gpu> gpus,
      ChooseGpus(node, run.gpus.device, run.gpus.initiates ? wanted : std::vector<std::string>()));
  run.gpus.regions = std::make_unique<GpuRegions>(*run.queue_pairs);
  RETURN_IF_ERROR(run.gpus.regions->Register(*run.gpus.memory, gpus, node.peer_memory,
                                             GpuMemoryPlanOf(run.spec).message_bytes));
  return WriteTable(run.gpus.regions->all(), run.queue_pairs->memory().first(kGpuTableBytes));
}

Result<std::vector<GpuRegion>> ReadPeer(ProbeRun& run) {
  // The same place of both memories: the own table is not needed any more.
  RETURN_IF_ERROR(run.queue_pairs->Post(
      {.operation = host::Operation::kRead, .bytes = kGpuTableBytes, .id = 1}));
  Pace pace(run, run.clock.Now().steady);
  RETURN_IF_ERROR(AwaitCompletion(run, pace, {"read of the partner's GPUs", 1, 1}));
  const auto table = run.queue_pairs->memory().first(kGpuTableBytes);
  return ReadTable({table.begin(), table.end()});
}

// For the n-th own GPU the n-th of the partner, in the same way.
const GpuRegion* PartnerOf(const std::vector<GpuRegion>& peer,
                           v1::GpuMemoryRegistration registration, std::size_t nth) {
  std::vector<const GpuRegion*> same;
  for (const GpuRegion& region : peer)
    if (region.registration == registration) same.push_back(&region);
  return same.empty() ? nullptr : same[nth % same.size()];
}

// Status of the step; DEADLINE_EXCEEDED ends the probe.
Status Write(ProbeRun& run, const GpuRegion& own, const GpuRegion* remote, std::uint32_t pair,
             v1::GpuMemoryStep& step) {
  const auto lacks = [](std::string_view end, const Status& why) {
    return Status(Code::kFailedPrecondition, Format("{}: {}", end, why.message()));
  };
  if (!own.status.ok()) return lacks("initiator", own.status);
  if (remote == nullptr) return {Code::kFailedPrecondition, "responder: it did not try this way"};
  step.set_remote_gpu(remote->gpu);
  if (!remote->status.ok()) return lacks("responder", remote->status);
  const GpuMemoryPlan plan = GpuMemoryPlanOf(run.spec);
  const Burst burst{.request = {.operation = host::Operation::kWrite,
                                .queue_pair = pair,
                                .bytes = plan.message_bytes,
                                .region = own.registered.region,
                                .remote = host::RemoteMemory{.address = remote->registered.address,
                                                             .key = remote->registered.key}},
                    .depth = plan.depth,
                    .count = plan.iterations};
  ASSIGN_OR_RETURN(*step.mutable_bandwidth(), RunBurst(run, burst, "write"));
  return {};
}

Status WriteAll(ProbeRun& run, v1::ProbeResult& result) {
  ASSIGN_OR_RETURN(const std::vector<GpuRegion> peer, ReadPeer(run));
  const std::vector<GpuRegion>& own = run.gpus.regions->all();
  bool works = false;
  bool crossed = false;
  Status first;
  std::map<v1::GpuMemoryRegistration, std::size_t> nth;
  for (std::uint32_t n = 0; n < own.size(); ++n) {
    v1::GpuMemoryStep& step = *result.add_gpu_memory();
    step.set_gpu(own[n].gpu);
    step.set_registration(own[n].registration);
    const Status done = Write(
        run, own[n], PartnerOf(peer, own[n].registration, nth[own[n].registration]++), n, step);
    if (done.code() == Code::kDeadlineExceeded) return done;
    step.set_works(done.ok());
    step.set_reason(done.message());
    if (!done.ok()) step.clear_bandwidth();
    works |= done.ok();
    crossed |= done.code() != Code::kFailedPrecondition;
    if (first.ok()) first = done;
  }
  if (works) return {};
  // What an end lacks is not the network's fault.
  return {crossed ? Code::kUnavailable : Code::kFailedPrecondition,
          Format("no registration method works at both ends: {}", first.message())};
}

void InitiateGpuMemory(ProbeRun& run, v1::ProbeResult& result) {
  const Status status = WriteAll(run, result);
  Conclude(status, result);
  if (status.code() == Code::kFailedPrecondition) result.set_status(v1::PROBE_STATUS_REFUSED);
}

}  // namespace

extern const ProbeKind gpu_memory = {
    .name = "gpu_memory",
    .doc = "RDMA writes from GPU to GPU, registered through peer memory and through dma-buf.",
    .check = CheckGpuMemory,
    .needs = NeedsGpuMemory,
    .prepare = PrepareGpuMemory,
    .initiate = InitiateGpuMemory,
    .respond = StandBy,
};

}  // namespace fabric::probe
