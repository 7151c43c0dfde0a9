// Flow control that a profile or the NIC requires: PFC on the data priority, or ECN when lossy.
#include <algorithm>

#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

PriorityMask Only(std::uint32_t priority) {
  PriorityMask mask;
  mask.Add(priority);
  return mask;
}

// pfc_equal_on_rail reports PFC that could not be read.
void JudgeFlowControl(const PortView& port, Verdicts& out) {
  const auto mask = PfcMask(port);
  if (!mask) return;
  if (!mask->empty() || PauseOf(port) == Pause::kOn) return out.Pass();
  if (PauseOf(port) == Pause::kUnknown) return;
  FailOn(port,
         {.what = "flow control",
          .expected = "PFC",
          .seen = "neither PFC nor global pause",
          .source = QosSource(port),
          .basis = ProfileBasis(*port.expectation) + ", lossless"},
         SetDataPfc(port, "The switch port needs PFC on the same priority."), out);
}

void EvaluateFlowControl(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (port.expected().lossless()) JudgeFlowControl(port, out);
  });
}

void JudgeDataPriority(const PortView& port, Verdicts& out) {
  const auto mask = PfcMask(port);
  if (!mask) return;
  const std::uint32_t priority = port.expected().data_priority();
  if (mask->Has(priority)) return out.Pass();
  FailOn(port,
         {.what = "PFC enabled priorities",
          .expected = Format("a set with {}", priority),
          .seen = ToText(*mask),
          .source = QosSource(port),
          .basis = ProfileBasis(*port.expectation)},
         SetPfc(port, Only(priority)), out);
}

// pfc_equal_on_rail judges when the profile lists priorities; other rules judge ports without PFC.
void EvaluateDataPriority(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const v1::Expectations& expected = port.expected();
    if (expected.lossless() && expected.has_data_priority() && !expected.has_pfc_priorities() &&
        !LacksPfcUnderLossless(port))
      JudgeDataPriority(port, out);
  });
}

bool AllOff(const google::protobuf::RepeatedField<bool>& enabled) {
  return !enabled.empty() &&
         std::none_of(enabled.begin(), enabled.end(), [](bool on) { return on; });
}

// Only ECN that is reported as off counts: where nothing is reported, the default may be on.
bool EcnIsOff(const v1::CongestionControl* control) {
  if (control == nullptr) return false;
  if (control->has_ecn_enabled()) return !control->ecn_enabled();
  return AllOff(control->notification_point_enabled()) || AllOff(control->reaction_point_enabled());
}

// These models do not recover quickly from lost packets.
bool NeedsLossless(const PortView& port) {
  const std::string& model = port.device->model();
  return model == "ConnectX-3" || model == "ConnectX-3 Pro" || model == "ConnectX-4";
}

// ECN alone keeps queues short.
bool DependsOnEcn(const Member& member) {
  const PortView& port = *member.port;
  return IsRoceHardware(member) && LacksPfcNow(member) && PauseOf(port) == Pause::kOff &&
         !NeedsLossless(port) && !port.expected().has_lossless() &&
         !port.expected().has_pfc_priorities();
}

void JudgeMode(const PortView& port, Verdicts& out) {
  const auto mask = PfcMask(port);
  if (!mask || PauseOf(port) == Pause::kUnknown) return;
  if (CongestionOf(port) == nullptr && DependsOnEcn({.port = &port})) return;
  if (!LacksRoceMode(port)) return out.Pass();
  const bool ecn_off = EcnIsOff(CongestionOf(port));
  FailOn(port,
         {.what = "RoCE mode",
          .expected = "lossless (PFC) or lossy with ECN",
          .seen = ecn_off ? "neither PFC nor pause nor ECN" : "neither PFC nor pause",
          .source = QosSource(port),
          .basis = ecn_off ? "rule" : port.device->model() + " has no lossy RoCE"},
         SetDataPfc(port,
                    "For lossless RoCE; set the switch the same. For lossy RoCE turn ECN on "
                    "instead, and set 'lossless: false' in the profile."),
         out);
}

// Other rules judge when the profile says whether RoCE is lossless.
void EvaluateMode(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (!port.expected().has_lossless() && !port.expected().has_pfc_priorities())
      JudgeMode(port, out);
  });
}

// Of a physical port: virtual functions do not report global pause.
bool LacksPfcOnHardware(const Member& port) {
  return LacksPfcNow(port) && IsHardware(port);
}

}  // namespace

bool LacksRoceMode(const PortView& port) {
  return PfcMask(port) == PriorityMask() && PauseOf(port) == Pause::kOff &&
         (EcnIsOff(CongestionOf(port)) || NeedsLossless(port));
}

extern const Rule lossless_has_flow_control = {
    .id = "lossless_has_flow_control",
    .title = "If the profile requires lossless RoCE, the port has PFC or global pause",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "With neither, the first incast drops packets, and after each drop a RoCE connection goes "
        "back and sends again. Throughput collapses while all drop counters of the host stay at "
        "zero. Intel's irdma slows itself down deliberately without flow control.",
    .source = "IEEE 802.1Qbb; Intel Ethernet 800 series RoCEv2 flow control guide (doc 635330)",
    .needs = {Input::kDcb, Input::kGlobalPause},
    .profile = {v1::Expectations::kLosslessFieldNumber},
    .reads = {{.field = Field::kPfc,
               .applies = IsRoceInUse,
               .profile = v1::Expectations::kLosslessFieldNumber},
              {.field = Field::kPause,
               .applies = LacksPfcNow,
               .profile = v1::Expectations::kLosslessFieldNumber}},
    .fix = "dcb pfc set dev NETDEV prio-pfc all:off PRIORITY:on",
    .evaluate_node = EvaluateFlowControl,
};

extern const Rule pfc_on_data_priority = {
    .id = "pfc_on_data_priority",
    .title = "If the profile requires lossless RoCE, PFC is on for the data priority",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "PFC on another priority protects other traffic: RoCE loses packets under incast and "
        "sends again. The usual cause is that switches and hosts follow the guides of different "
        "vendors.",
    .source = "IEEE 802.1Qbb; kernel include/uapi/linux/dcbnl.h (struct ieee_pfc)",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kLosslessFieldNumber, v1::Expectations::kDataPriorityFieldNumber},
    .fix = "dcb pfc set dev NETDEV prio-pfc all:off PRIORITY:on",
    .evaluate_node = EvaluateDataPriority,
};

extern const Rule roce_mode_defined = {
    .id = "roce_mode_defined",
    .title = "RoCE is either lossless, or lossy with congestion control",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Without flow control and without ECN nothing keeps queues from overflowing, and RoCE "
        "sends many packets again for each lost one. Jobs fail with 'transport retry counter "
        "exceeded' under load. The usual cause is a configuration script that did not run.",
    .source = "NVIDIA RoCE recommendations (lossless and lossy set-ups)",
    .needs = {Input::kDcb, Input::kGlobalPause, Input::kCongestionControl},
    .profile = {v1::Expectations::kLosslessFieldNumber,
                v1::Expectations::kPfcPrioritiesFieldNumber},
    .reads = {{.field = Field::kPause, .applies = LacksPfcOnHardware},
              {.field = Field::kEcn, .applies = DependsOnEcn, .always = true}},
    .fix = "dcb pfc set dev NETDEV prio-pfc PRIORITY:on, or ECN on",
    .evaluate_node = EvaluateMode,
};

}  // namespace fabric::rules
