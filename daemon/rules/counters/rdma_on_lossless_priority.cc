#include "base/text.h"
#include "daemon/rules/counters/moving.h"
#include "daemon/rules/lossless/lossless.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// About a gigabit a second for half a minute: below that, reading both sets of counters at slightly
// different moments could matter, or control traffic.
constexpr std::uint64_t kBytesMin = 4'000'000'000;
constexpr double kShareMinPercent = 90;

// The settings themselves send RoCE elsewhere: rules on them say so.
bool SettingsExplain(const PortView& port, const v1::DcbConfig& dcb, std::uint32_t mask) {
  if (port.expected().has_lossless() && !port.expected().lossless()) return true;
  if (dcb.trust() != v1::TRUST_DSCP) return true;
  bool covered = false;
  for (std::uint32_t dscp = 0; dscp < 64 && !covered; ++dscp)
    covered = Has(mask, PriorityOfDscp(dcb, dscp).value_or(8));
  if (!covered) return true;
  const auto data = DataDscp(port);
  return data && !Has(mask, PriorityOfDscp(dcb, *data).value_or(8));
}

struct Bytes {
  std::uint64_t lossless = 0;
  std::uint64_t most = 0;
  unsigned priority = 0;  // That has most of the others
  bool known = false;     // All with PFC are
};

Bytes BytesOf(const PortView& port, std::uint32_t mask) {
  Bytes bytes{.known = true};
  for (unsigned priority = 0; priority < 8; ++priority) {
    const auto move = Moved(port, fleet::OfPriority(Count::kPriorityTransmittedBytes, priority));
    if (Has(mask, priority)) {
      bytes.known = bytes.known && move.has_value();
      bytes.lossless += move ? move->delta : 0;
    } else if (move && move->delta > bytes.most) {
      bytes.most = move->delta;
      bytes.priority = priority;
    }
  }
  return bytes;
}

void Fail(const PortView& port, std::uint32_t mask, const CounterIncrease& sent, const Bytes& bytes,
          double share, Verdicts& out) {
  const std::string seen = Format("{:.0f} % of {}", share, BitRate(8 * sent.PerSecond()));
  FailMoving(
      port,
      {.title = Format("{} of RDMA goes over priorities with PFC ({}), most of the rest over "
                       "priority {}",
                       seen, PriorityMask(mask), bytes.priority),
       .expected = Format("at least {} %", kShareMinPercent),
       .seen = seen,
       .count = Count::kTransmittedBytes},
      {ToRemedy({.command = "export NCCL_IB_TC=106",
                 .note = "The traffic class that applications ask for, here DSCP 26; without it "
                         "NCCL asks for 0. UCX: UCX_IB_TRAFFIC_CLASS; RDMA-CM: cma_roce_tos."}),
       ToRemedy({.platform = "mlx5",
                 .command =
                     Format("cd / && echo tclass=106 > sys/class/infiniband/{}/tc/{}/traffic_class",
                            port.device->name(), port.port->number()),
                 .note = "MLNX_OFED: for all queue pairs that the kernel "
                         "makes. Those that GPUs make (DevX, GPU-initiated) need it from their "
                         "library."})},
      out);
}

void JudgePort(const PortView& port, Verdicts& out) {
  const auto sent = Moved(port, Count::kTransmittedBytes);
  if (!sent || sent->delta < kBytesMin) return;
  const v1::DcbConfig* const dcb = DcbOf(port);
  const auto mask = LosslessMask(port);
  if (dcb == nullptr || !mask || *mask == 0) return;
  if (SettingsExplain(port, *dcb, *mask)) return;
  const Bytes bytes = BytesOf(port, *mask);
  if (!bytes.known) return;
  const double share = 100 * static_cast<double>(bytes.lossless) / static_cast<double>(sent->delta);
  if (share >= kShareMinPercent)
    out.Pass();
  else
    Fail(port, *mask, *sent, bytes, share, out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForMoving(node, [&](const PortView& port) { JudgePort(port, out); });
}

}  // namespace

extern const Rule rdma_on_lossless_priority = {
    .id = "rdma_on_lossless_priority",
    .title = "RDMA that is sent goes over the priorities that have PFC",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "All settings are right, and the application does not use them: its packets carry no DSCP "
        "and run in the lossy priority 0, or some of its queue pairs do not inherit the traffic "
        "class. Under incast these lose packets, and queue pairs fail once in thousands of runs.",
    .source = "kernel mlx5/core/en_stats.c (tx_prioN_bytes) against the RDMA port's data counter",
    .needs = "counters, dcb",
    .profile = "lossless data_dscp",
    .fix = "Traffic class of the application: NCCL_IB_TC, UCX_IB_TRAFFIC_CLASS",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
