#include "agents/probe/numbers.h"
#include "agents/probe/polling.h"
#include "agents/probe/probe.h"

namespace fabric::probe {
namespace {

host::RcOptions Needs(const v1::ProbeSpec&) {
  return {.memory_bytes = 1, .send_queue_depth = 1};
}

void Initiate(ProbeRun& run, v1::ProbeResult& result) {
  run.queue_pair.memory()[0] = std::byte{1};
  Status status = run.queue_pair.PostWrite(0, 1, 1, true);
  if (status.ok()) status = AwaitCompletion(run, "the only write");
  Conclude(status, result);
}

// The card takes the write by itself; the queue pair has to be there until it has come.
void Respond(ProbeRun& run, v1::ProbeResult& result) {
  run.await_stop();
  Conclude(Status(), result);
}

}  // namespace

extern const ProbeKind one_write = {
    .name = "one_write",
    .doc = "One RDMA write of one byte: whether the path works at all.",
    .check = CheckCommon,
    .needs = Needs,
    .initiate = Initiate,
    .respond = Respond,
};

}  // namespace fabric::probe
