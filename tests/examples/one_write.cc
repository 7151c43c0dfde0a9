#include "agents/probe/polling.h"
#include "agents/probe/probe.h"
#include "agents/probe/spec.h"

namespace fabric::probe {
namespace {

ProbeNeeds Needs(const v1::ProbeSpec&) {
  return host::RcOptions{.memory_bytes = 1};
}

void Initiate(ProbeRun& run, v1::ProbeResult& result) {
  run.queue_pairs->memory()[0] = std::byte{1};
  Status status = run.queue_pairs->Post({.operation = host::Operation::kWrite, .bytes = 1});
  Pace pace(run, run.clock.Now().steady);
  if (status.ok()) status = AwaitCompletion(run, pace, {"write", 1, 1});
  Conclude(status, result);
}

}  // namespace

extern const ProbeKind one_write = {
    .name = "one_write",
    .doc = "One RDMA write of one byte: whether the path works at all.",
    .check = CheckCommon,
    .needs = Needs,
    .initiate = Initiate,
    .respond = StandBy,  // The card takes the write by itself.
};

}  // namespace fabric::probe
