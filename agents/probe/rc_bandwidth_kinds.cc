// Bandwidth of RDMA reads, writes and sends over reliable connections, as measured by ib_read_bw,
// ib_write_bw and ib_send_bw (on the sending side). The payload of a read flows to the initiator.
#include "agents/probe/rc_bandwidth.h"

namespace fabric::probe {
namespace {

BandwidthPlan ReadPlan(const v1::ProbeSpec& spec) {
  return BandwidthPlan::Of(spec.rc_read_bandwidth(), host::Operation::kRead, "read");
}

BandwidthPlan SendPlan(const v1::ProbeSpec& spec) {
  return BandwidthPlan::Of(spec.rc_send_bandwidth(), host::Operation::kSend, "send");
}

BandwidthPlan WritePlan(const v1::ProbeSpec& spec) {
  return BandwidthPlan::Of(spec.rc_write_bandwidth(), host::Operation::kWrite, "write");
}

Status PrepareSends(ProbeRun& run) {
  return PrepareBandwidth(run, SendPlan(run.spec));
}

template <BandwidthPlan (*PlanOf)(const v1::ProbeSpec&)>
constexpr ProbeKind BandwidthKind(std::string_view name, std::string_view doc,
                                  Status (*prepare)(ProbeRun& run) = nullptr) {
  return {
      .name = name,
      .doc = doc,
      .check = [](const v1::ProbeSpec& spec) { return CheckBandwidth(spec, PlanOf(spec)); },
      .needs = [](const v1::ProbeSpec& spec) { return BandwidthNeeds(PlanOf(spec)); },
      .prepare = prepare,
      .initiate = [](ProbeRun& run,
                     v1::ProbeResult& result) { InitiateBandwidth(run, PlanOf(run.spec), result); },
      .respond = [](ProbeRun& run,
                    v1::ProbeResult& result) { RespondBandwidth(run, PlanOf(run.spec), result); },
  };
}

}  // namespace

extern const ProbeKind rc_read_bandwidth = BandwidthKind<ReadPlan>(
    "rc_read_bandwidth",
    "Payload per second of RDMA reads over reliable connections, one way or both.");
extern const ProbeKind rc_send_bandwidth = BandwidthKind<SendPlan>(
    "rc_send_bandwidth", "Payload per second of sends over reliable connections, one way or both.",
    PrepareSends);
extern const ProbeKind rc_write_bandwidth = BandwidthKind<WritePlan>(
    "rc_write_bandwidth",
    "Payload per second of RDMA writes over reliable connections, one way or both.");

}  // namespace fabric::probe
