// RDMA reads over reliable connections, as ib_read_bw counts them: the payload flows to who asks.
#include "agents/probe/rc_bandwidth.h"

namespace fabric::probe {
namespace {

BandwidthPlan PlanOf(const v1::ProbeSpec& spec) {
  return BandwidthPlan::Of(spec.rc_read_bandwidth(), host::Operation::kRead, "read", 16);
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

extern const ProbeKind rc_read_bandwidth = {
    .name = "rc_read_bandwidth",
    .doc = "Payload per second of RDMA reads over reliable connections, one way or both.",
    .check = Check,
    .needs = Needs,
    .initiate = Initiate,
    .respond = Respond,
};

}  // namespace fabric::probe
