// Traffic on the lossless priorities: pause frames of the switch, and RDMA that is sent.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "daemon/rules/counters/rates.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/switches/switches.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// A switch sends fewer while its settings are being changed.
constexpr std::uint64_t kFramesMin = 100;

// About 1 Gb/s for half a minute. Below that, control traffic or different reading times of the two
// sets of counters could matter.
constexpr std::uint64_t kBytesMin = 4'000'000'000;
constexpr double kShareMinPercent = 90;
// The limit if one lossy priority carries the missing bytes: see ShareMin().
constexpr double kTightShareMinPercent = 97;

// switch_pfc_equals_host compares a mask that the switch announces by LLDP. pfc_equal_on_rail
// reports a port that differs from others of its node.
bool IsReportedElsewhere(const fleet::NodeView& node, const PortView& port, PriorityMask mask) {
  const v1::LldpNeighbor* const neighbor = NeighborOf(port);
  if (neighbor != nullptr && neighbor->has_pfc() &&
      PriorityMask(neighbor->pfc().enabled_mask()) != mask)
    return true;
  for (const PortView& other : node.ports)
    if (PfcMask(other).value_or(mask) != mask) return true;
  return LacksPfcUnderLossless(port);
}

Count FramesOf(unsigned priority) {
  return fleet::OfPriority(Count::kPriorityPfcReceived, priority);
}

void FailFrames(const PortView& port, PriorityMask mask, PriorityMask ignored, Verdicts& out) {
  Count most = FramesOf(ignored.lowest());
  for (unsigned priority = 0; priority < PriorityMask::kPriorities; ++priority)
    if (ignored.Has(priority) && Delta(port, FramesOf(priority)) > Delta(port, most))
      most = FramesOf(priority);
  FailOnCounter(port,
                {.title = Format("the switch pauses priorities {}, PFC is on for {}",
                                 ToText(ignored), ToText(mask)),
                 .expected = "pauses of " + ToText(mask),
                 .seen = Format("{} frames for {}", Delta(port, most), ToText(ignored)),
                 .count = most},
                {Query({.command = Format("dcb pfc show dev {}", WireName(port)),
                        .note = "Decide which priority is intended, and set PFC and the DSCP "
                                "map the same on switch port and hosts."})},
                out);
}

// Reads settings only where frames arrived.
void JudgeFrames(const fleet::NodeView& node, const PortView& port, Verdicts& out) {
  if (!fleet::HasAnyPriority(port.activity.known, Count::kPriorityPfcReceived)) return;
  if (!fleet::HasAnyPriority(port.activity.grown, Count::kPriorityPfcReceived)) return out.Pass();
  PriorityMask paused;
  for (unsigned priority = 0; priority < PriorityMask::kPriorities; ++priority)
    if (Delta(port, FramesOf(priority)) >= kFramesMin) paused.Add(priority);
  if (paused.empty()) return out.Pass();
  const auto mask = PfcMask(port);
  if (!mask || IsReportedElsewhere(node, port, *mask)) return;
  const PriorityMask ignored = paused.Without(*mask);
  if (ignored.empty()) return out.Pass();
  FailFrames(port, *mask, ignored, out);
}

void EvaluateFrames(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeFrames(node, port, out); });
}

// The settings already put RoCE into another priority: other rules report them.
bool SettingsExplain(const PortView& port, const v1::DcbConfig& dcb, PriorityMask mask) {
  if (port.expected().has_lossless() && !port.expected().lossless()) return true;
  if (dcb.trust() != v1::TRUST_DSCP) return true;
  const auto covers = [&](std::uint32_t dscp) {
    const auto priority = PriorityOfDscp(dcb, dscp);
    return priority && mask.Has(*priority);
  };
  bool covered = false;
  for (std::uint32_t dscp = 0; dscp < 64 && !covered; ++dscp) covered = covers(dscp);
  if (!covered) return true;
  const auto data = DataDscp(port);
  return data && !covers(*data);
}

struct Bytes {
  std::uint64_t lossless = 0;
  std::uint64_t most = 0;  // Of one lossy priority
  unsigned priority = 0;   // That one
  bool known = false;      // All lossless priorities are known
};

Bytes BytesOf(const PortView& port, PriorityMask mask) {
  Bytes bytes{.known = true};
  for (unsigned priority = 0; priority < PriorityMask::kPriorities; ++priority) {
    const auto sent =
        IncreaseOf(port, fleet::OfPriority(Count::kPriorityTransmittedBytes, priority));
    if (mask.Has(priority)) {
      bytes.known = bytes.known && sent.has_value();
      bytes.lossless += sent ? sent->delta : 0;
    } else if (sent && sent->delta > bytes.most) {
      bytes.most = sent->delta;
      bytes.priority = priority;
    }
  }
  return bytes;
}

// The tight limit applies if more bytes are missing than a difference of reading times explains,
// and one lossy priority carries about the same number. If it carries much more, other traffic than
// RDMA uses it. Only mlx5 is known to count no more RDMA bytes than bytes of the priorities.
double ShareMin(const PortView& port, const Bytes& bytes, std::uint64_t sent) {
  const std::uint64_t missing = sent - std::min(sent, bytes.lossless);
  const bool certain = missing >= kBytesMin && bytes.most >= missing - missing / 10 &&
                       bytes.most <= 3 * missing && DriverOf(port).starts_with("mlx5");
  return certain ? kTightShareMinPercent : kShareMinPercent;
}

// The traffic class is that of the profile, the driver or the other ports of the node; a default
// of vendors' guides may be a lossy one here.
std::vector<v1::Remedy> ShareRemedies(const PortView& port) {
  const auto dscp = LosslessDscp(port);
  if (!dscp)
    return {
        Advice(Format("Mark RoCE with the DSCP that the fabric uses for it. On this port {} "
                      "lead to a priority with PFC; the traffic class is 4 * DSCP + 2 "
                      "(NCCL_IB_TC, UCX_IB_TRAFFIC_CLASS). State data_dscp in the profile to "
                      "get the command.",
                      LosslessDscps(port)))};
  const std::uint32_t tos = TosOfDscp(*dscp);
  std::vector<v1::Remedy> remedies = {Change(
      {.command = Format("export NCCL_IB_TC={0} UCX_IB_TRAFFIC_CLASS={0}", tos),
       .affects = v1::REMEDY_REACH_JOB,
       .interrupts = kInterruptsNothing,
       .lasts = UntilReboot("set it in the job scripts, or NCCL_IB_TC in /etc/nccl.conf"),
       .undo = "unset NCCL_IB_TC UCX_IB_TRAFFIC_CLASS",
       .note = Format("Traffic class that the application requests, here DSCP {}. Without it NCCL "
                      "requests 0. It must be the same on all nodes.",
                      *dscp)})};
  if (!DriverOf(port).starts_with("mlx5")) return remedies;
  for (v1::Remedy& remedy : SetTrafficClass(port, tos)) {
    remedy.set_note(
        "MLNX_OFED: applies to all queue pairs that the kernel creates. Queue pairs that GPUs "
        "create (DevX, GPU-initiated) get it from their library.");
    remedies.push_back(std::move(remedy));
  }
  return remedies;
}

void JudgeLosslessShare(const PortView& port, Verdicts& out) {
  const auto sent = IncreaseOf(port, Count::kTransmittedBytes);
  if (!sent || sent->delta < kBytesMin || !HasPfc(port)) return;
  const PriorityMask mask = *PfcMask(port);
  if (SettingsExplain(port, *DcbOf(port), mask)) return;
  const Bytes bytes = BytesOf(port, mask);
  if (!bytes.known) return;
  const double share = 100 * static_cast<double>(bytes.lossless) / static_cast<double>(sent->delta);
  const double limit = ShareMin(port, bytes, sent->delta);
  if (share >= limit) return out.Pass();
  const std::string seen = Format("{:.0f} % of {}", share, BitRate(8 * sent->PerSecond()));
  FailOnCounter(port,
                {.title = Format("{} of RDMA uses priorities with PFC ({}), most of the rest "
                                 "priority {}",
                                 seen, ToText(mask), bytes.priority),
                 .expected = Format("at least {} %", limit),
                 .seen = seen,
                 .count = Count::kTransmittedBytes},
                ShareRemedies(port), out);
}

void EvaluateLosslessShare(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeLosslessShare(port, out); });
}

}  // namespace

extern const Rule pfc_frames_on_enabled_priorities = {
    .id = "pfc_frames_on_enabled_priorities",
    .title = "The switch pauses only priorities for which the host has PFC on",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "The host counts and ignores pauses of a priority without PFC: it continues to send, and "
        "the switch drops packets. Host and switch are configured for different priorities.",
    .source =
        "IEEE 802.1Qbb; kernel bnxt_ethtool.c (rx_pfc_enaN_frames). mlx5 counts only "
        "priorities that are enabled",
    .needs = {Input::kCounters, Input::kDcb},
    .reads = {{.field = Field::kLinkCounters, .applies = IsHardwareLink}},
    .fix = "Set the same priorities on host and switch port",
    .evaluate_node = EvaluateFrames,
};

extern const Rule rdma_on_lossless_priority = {
    .id = "rdma_on_lossless_priority",
    .title = "RDMA traffic uses the priorities that have PFC",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "All settings are right, and the application does not use them: its packets carry no DSCP "
        "and use the lossy priority 0, or some of its queue pairs do not inherit the traffic "
        "class. Under incast they lose packets, and queue pairs fail once in thousands of runs.",
    .source = "kernel mlx5/core/en_stats.c (tx_prioN_bytes) against the RDMA port's data counter",
    .needs = {Input::kCounters, Input::kDcb},
    .profile = {v1::Expectations::kLosslessFieldNumber, v1::Expectations::kDataDscpFieldNumber},
    .reads = {{.field = Field::kLinkCounters, .applies = IsHardwareLink}},
    .fix = "Set the traffic class of the application: NCCL_IB_TC, UCX_IB_TRAFFIC_CLASS",
    .evaluate_node = EvaluateLosslessShare,
};

}  // namespace fabric::rules
