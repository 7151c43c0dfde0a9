// Sends over reliable connections, as ib_send_bw counts them on the sending side.
#include "agents/probe/rc_bandwidth.h"

namespace fabric::probe {
namespace {

BandwidthPlan PlanOf(const v1::ProbeSpec& spec) {
  return BandwidthPlan::Of(spec.rc_send_bandwidth(), host::Operation::kSend, "send", 128);
}

Status Check(const v1::ProbeSpec& spec) {
  return CheckBandwidth(spec, PlanOf(spec));
}

ProbeNeeds Needs(const v1::ProbeSpec& spec) {
  return BandwidthNeeds(PlanOf(spec));
}

Status Prepare(ProbeRun& run) {
  return PrepareBandwidth(run, PlanOf(run.spec));
}

void Initiate(ProbeRun& run, v1::ProbeResult& result) {
  InitiateBandwidth(run, PlanOf(run.spec), result);
}

void Respond(ProbeRun& run, v1::ProbeResult& result) {
  RespondBandwidth(run, PlanOf(run.spec), result);
}

}  // namespace

extern const ProbeKind rc_send_bandwidth = {
    .name = "rc_send_bandwidth",
    .doc = "Payload per second of sends over reliable connections, one way or both.",
    .check = Check,
    .needs = Needs,
    .prepare = Prepare,
    .initiate = Initiate,
    .respond = Respond,
};

}  // namespace fabric::probe
