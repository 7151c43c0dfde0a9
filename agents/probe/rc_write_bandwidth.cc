// RDMA writes over reliable connections, as ib_write_bw counts them.
#include "agents/probe/rc_bandwidth.h"

namespace fabric::probe {
namespace {

BandwidthPlan PlanOf(const v1::ProbeSpec& spec) {
  return BandwidthPlan::Of(spec.rc_write_bandwidth(), host::Operation::kWrite, "write", 128);
}

Status Check(const v1::ProbeSpec& spec) {
  return CheckBandwidth(spec, PlanOf(spec));
}

ProbeNeeds Needs(const v1::ProbeSpec& spec) {
  return BandwidthNeeds(PlanOf(spec));
}

void Initiate(ProbeRun& run, v1::ProbeResult& result) {
  InitiateBandwidth(run, PlanOf(run.spec), result);
}

void Respond(ProbeRun& run, v1::ProbeResult& result) {
  RespondBandwidth(run, PlanOf(run.spec), result);
}

}  // namespace

extern const ProbeKind rc_write_bandwidth = {
    .name = "rc_write_bandwidth",
    .doc = "Payload per second of RDMA writes over reliable connections, one way or both.",
    .check = Check,
    .needs = Needs,
    .initiate = Initiate,
    .respond = Respond,
};

}  // namespace fabric::probe
