// Results of probes as any agent may send them: what the controller takes is sound, and blame
// accuses only the two ends of the pair.
//
// The input: a byte that selects the kind of the probe, a byte that selects the sender, and a
// ProbeResult.
#include <google/protobuf/stubs/logging.h>

#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "daemon/control/campaigns/probe_check.h"
#include "daemon/control/campaigns/result_analyzer.h"
#include "fabric/v1/probe.pb.h"
#include "proto/json.h"
#include "proto/probe_kinds.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

namespace fabric::control {
namespace {

v1::ProbePort PortOf(const std::string& node) {
  v1::ProbePort port;
  port.set_node(node);
  port.set_device("mlx5_0");
  port.set_port(1);
  return port;
}

bool IsOneLine(const std::string& text) {
  for (const char letter : text)
    if (static_cast<unsigned char>(letter) < 0x20) return false;
  return true;
}

void CheckFigures(const v1::ProbeResult& result) {
  const bool ok = result.status() == v1::PROBE_STATUS_OK;
  Check(ok || !result.has_latency(), "what failed has no latency");
  Check(ok || !result.has_bandwidth(), "what failed has no bandwidth");
  Check(!result.has_latency() ||
            (std::isfinite(result.latency().median_us()) && result.latency().median_us() > 0),
        "a latency is positive");
  for (const auto* bandwidth : {&result.bandwidth(), &result.reverse_bandwidth()})
    Check(std::isfinite(bandwidth->mean_bps()) && bandwidth->mean_bps() >= 0,
          "a bandwidth is not negative");
  const v1::PingSummary& ping = result.ping();
  Check(std::uint64_t{ping.answered()} + ping.lost() + ping.voided() <= ping.sent(),
        "no more pings end than were sent");
  for (const v1::FlowSummary& flow : ping.flows()) {
    Check(flow.lost() <= flow.sent(), "no more pings of a flow are lost than were sent");
    Check(std::uint64_t{flow.lost_out()} + flow.lost_in() <= flow.lost(),
          "no more pings of a flow are lost in both directions than in all");
    Check(std::isfinite(flow.median_us()), "a median is a number");
  }
}

// Pairs among eight ports. All are good but the one between n1 and n2.
void CheckBlame(const v1::ProbeSpec& probe, const v1::ProbeResult& seen) {
  blame::Fabric fabric;
  for (int n = 1; n <= 8; ++n)
    fabric.endpoints.push_back(
        {.node = "n" + std::to_string(n), .device = "mlx5_0", .port = 1, .rail = 0, .leaf = "l"});
  ResultAnalyzer analyzer(fabric);
  v1::ProbeResult good;
  good.set_status(v1::PROBE_STATUS_OK);
  good.mutable_latency()->set_median_us(2);
  good.mutable_latency()->set_samples(1);
  std::vector<std::uint32_t> usable;
  for (std::uint32_t from = 1; from <= 8; ++from) {
    usable.push_back(from - 1);
    for (std::uint32_t to = 1; to <= 8; ++to) {
      if (from == to) continue;
      v1::PairResult result;
      *result.mutable_from() = PortOf("n" + std::to_string(from));
      *result.mutable_to() = PortOf("n" + std::to_string(to));
      *result.mutable_probe() = probe;
      *result.mutable_result() = from == 1 && to == 2 ? seen : good;
      analyzer.Add(std::move(result));
    }
  }
  analyzer.EndRound();
  const blame::Assessment assessment = analyzer.Assess(usable, {}, {});
  for (const v1::Suspect& suspect : assessment.report.suspects()) {
    Check(std::isfinite(suspect.confidence()) && suspect.confidence() >= 0 &&
              suspect.confidence() <= 1,
          "a confidence is a probability");
    for (int n = 3; n <= 8; ++n)
      Check(suspect.name() != "n" + std::to_string(n) &&
                suspect.name() != "n" + std::to_string(n) + "/mlx5_0/1",
            "a part without a failed probe is not accused");
  }
  Check(ToJson(assessment.report, false) != "{}" || assessment.report.ByteSizeLong() == 0,
        "a report can be printed");
}

void TakeResult(const std::uint8_t* data, std::size_t size) {
  const auto& arms = ProbeArms();
  v1::ProbeSpec probe;
  SetProbeKind(*arms[data[0] % arms.size()], probe);
  const std::string node = data[1] % 2 == 0 ? "n1" : "n2";
  const std::string partner = data[1] % 2 == 0 ? "n2" : "n1";
  v1::ProbeResult result;
  if (!result.ParseFromArray(data + 2, static_cast<int>(size - 2))) return;
  result = Checked(probe, std::move(result), node, partner);
  Check(v1::ProbeStatus_IsValid(result.status()) && result.status() != v1::PROBE_STATUS_UNSPECIFIED,
        "the status is known");
  const bool ok = result.status() == v1::PROBE_STATUS_OK;
  Check(ok == result.reason().empty(), "what is not ok has a reason");
  Check(IsOneLine(result.reason()), "a reason is one line");
  Check(result.reason().size() <= kReasonBytesMax + node.size() + 2, "a reason is short");
  const std::string& blamed = result.blamed_node();
  Check(blamed.empty() || (!ok && (blamed == "n1" || blamed == "n2")),
        "only an end that failed is blamed");
  CheckFigures(result);
  Check(ToJson(result, false) != "{}", "a result can be printed");
  CheckBlame(probe, result);
}

}  // namespace
}  // namespace fabric::control

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  google::protobuf::SetLogHandler(nullptr);
  if (size >= 2) fabric::control::TakeResult(data, size);
  return 0;
}
