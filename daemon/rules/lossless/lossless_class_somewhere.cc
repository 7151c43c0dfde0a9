#include <algorithm>

#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/remedy.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// How a port protects RoCE.
constexpr std::uint64_t kNoLosslessClass = 0;
constexpr std::uint64_t kPauseOnly = 1;  // Global pause, for all traffic
constexpr std::uint64_t kLossyByDesign = 2;
constexpr std::uint64_t kHasLosslessClass = 3;

// Trust in DSCP and ECN: set up on purpose. Nothing if it is not known.
std::optional<bool> IsLossyByDesign(const PortView& port) {
  const v1::DcbConfig& dcb = *DcbOf(port);
  const v1::CongestionControl* const control = CongestionOf(port);
  if (dcb.has_trust() && dcb.trust() != v1::TRUST_DSCP) return false;
  if (!dcb.has_trust() || control == nullptr) return {};
  const auto& enabled = control->reaction_point_enabled();
  return control->ecn_enabled() || std::find(enabled.begin(), enabled.end(), true) != enabled.end();
}

// A profile that says whether RoCE is lossless is judged by other rules.
bool IsOfGpuFabric(const Member& port) {
  const v1::Expectations& expected = port.port->expected();
  return IsRoceHardware(port) && HasGpuInUse(port.snapshot()) && !expected.has_lossless() &&
         !expected.has_pfc_priorities();
}

std::optional<Value> ProtectionOf(const Member& member) {
  const PortView& port = *member.port;
  const auto mask = PfcMask(port);
  if (!mask || !IsOfGpuFabric(member)) return {};
  if (!mask->empty()) return Value{kHasLosslessClass};
  if (PauseOf(port) == Pause::kOn) return Value{kPauseOnly};
  if (LacksRoceMode(port)) return {};  // A finding of roce_mode_defined
  const std::optional<bool> lossy = IsLossyByDesign(port);
  if (!lossy) return {};
  return Value{*lossy ? kLossyByDesign : kNoLosslessClass};
}

std::optional<Group> ByProductOfNode(const Member& port) {
  return ByProduct({.node = port.node});
}

void JudgeClasses(const ValueCounts& counts, Verdicts& out) {
  std::uint64_t paused = 0;
  for (const ValueCounts::Entry& entry : counts.values) {
    if (entry.value.number >= kLossyByDesign) return out.Pass();
    if (entry.value.number == kPauseOnly) paused = entry.members;
  }
  const Member& example = counts.values[0].any;
  const PortView& port = *example.port;
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_FLEET);
  const std::string seen =
      paused == 0 ? "none" : Format("none; global pause on {}", Share(paused, counts.members));
  PriorityMask wanted;
  wanted.Add(kUsualDataPriority);
  std::vector<v1::Remedy> remedies =
      SetPfc(port, wanted,
             "On every RoCE port and switch port, with trust in DSCP. For lossy RoCE with ECN, "
             "set 'lossless: false' in a profile.");
  for (v1::Remedy& remedy : remedies) SetHost(port.node->name, remedy);
  out.Fail(std::move(subject),
           Format("lossless class on {} RoCE ports of nodes with GPUs: {}, expected PFC on one "
                  "priority",
                  Share(counts.members, counts.members), seen),
           {ToEvidence(*port.node, {.what = "PFC enabled priorities of " + PortName(port),
                                    .expected = "one priority",
                                    .seen = "none",
                                    .source = QosSource(port),
                                    .basis = "GPUs and RoCE in one node"})},
           std::move(remedies), example.snapshot().host().product());
}

constexpr GroupRule kProtection = {
    .group = ByProductOfNode, .value = ProtectionOf, .judge_group = JudgeClasses};

}  // namespace

extern const Rule lossless_class_somewhere = {
    .id = "lossless_class_somewhere",
    .title = "RoCE between nodes with GPUs has a lossless class, or is lossy by design",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_FLEET,
    .why =
        "The factory settings are trust in PCP, global pause or none, and no PFC: RoCE shares one "
        "class with all other traffic. The many-to-one traffic of collectives overflows queues, "
        "and each lost packet is sent again with all that follow it; global pause stops all "
        "traffic of a port instead. Lossy by design means trust in DSCP, ECN on and no pause, or "
        "'lossless: false' in a profile.",
    .source = "IEEE 802.1Qbb; NVIDIA and Broadcom RoCE set-ups",
    .needs = {Input::kDcb, Input::kGlobalPause, Input::kCongestionControl, Input::kGpus},
    .profile = {v1::Expectations::kLosslessFieldNumber,
                v1::Expectations::kPfcPrioritiesFieldNumber},
    .fix = "dcb pfc set dev NETDEV prio-pfc all:off PRIORITY:on, and the switches",
    .group_rule = &kProtection,
};

}  // namespace fabric::rules
