// RoCE settings of a port for rules: DCB (PFC, ETS, DSCP map), congestion control, global pause.
// Numbers have the meaning of kernel include/uapi/linux/dcbnl.h and IEEE 802.1Qaz.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/priority_mask.h"
#include "daemon/rules/equality_rule.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/numbers.h"

namespace fabric::rules {

// IEEE 802.1Qaz, transmission selection algorithms.
inline constexpr std::uint32_t kTsaStrict = 0;
inline constexpr std::uint32_t kTsaCbs = 1;
inline constexpr std::uint32_t kTsaEts = 2;

// Defaults of most vendors' RoCE configuration guides.
inline constexpr std::uint32_t kUsualDataDscp = 26;
inline constexpr std::uint32_t kUsualDataPriority = 3;
inline constexpr std::uint32_t kUsualCnpDscp = 48;

// Compares ports of one rail with the same driver: drivers give settings different meanings.
std::optional<Group> ByRailAndDriver(const Member& port);

// A fabric port with RoCE that is up and that the profile does not mark as unused.
inline bool CarriesRoce(const fleet::PortView& port) {
  return port.carries_roce;
}

// Calls `judge` for each port of the node that carries RoCE.
template <class JudgePort>
void ForRocePorts(const fleet::NodeView& node, JudgePort judge) {
  for (const fleet::PortView& port : node.ports)
    if (CarriesRoce(port)) judge(port);
}

// Name of PortView::wire, for commands: on a bond its member. The port's netdev when there is none.
const std::string& WireName(const fleet::PortView& port);

// DCB settings of a port that carries RoCE, see PortView::Dcb(); nullptr when not reported.
const v1::DcbConfig* DcbOf(const fleet::PortView& port);
// Congestion control of a port that carries RoCE; nullptr when not reported.
const v1::CongestionControl* CongestionOf(const fleet::PortView& port);

// A field of the port's congestion control; nothing when absent.
template <auto kHas, auto kGet>
std::optional<Value> CongestionNumber(const Member& member) {
  const v1::CongestionControl* const control = CongestionOf(*member.port);
  return control == nullptr ? std::nullopt : NumberOf<kHas, kGet>(*control);
}

// Priorities with PFC on a port that carries RoCE; nothing when not reported.
std::optional<PriorityMask> PfcMask(const fleet::PortView& port);
// Neither PFC nor global pause, and ECN off or a card that needs PFC. False when not known.
bool LacksRoceMode(const fleet::PortView& port);
// PFC is reported and on for at least one priority.
bool HasPfc(const fleet::PortView& port);
// At least two RoCE ports of the node are up and all have the PFC mask of this one. A difference
// from other nodes is then not a mistake on one port.
bool PfcIsEqualOnNode(const fleet::PortView& port);

// Priority of a DSCP; nothing when the port does not trust DSCP or its map is not known.
std::optional<std::uint32_t> PriorityOfDscp(const v1::DcbConfig& dcb, std::uint32_t dscp);

// DSCP of RoCE data: of the profile, else of the driver.
std::optional<std::uint32_t> DataDscp(const fleet::PortView& port);
// Priority of RoCE data: of the profile, else of the driver, else that of the usual DSCP when it
// has PFC, else the only priority with PFC. Nothing when in doubt.
std::optional<std::uint32_t> DataPriority(const fleet::PortView& port);

// Traffic class of a priority.
std::optional<std::uint32_t> ClassOf(const v1::Ets& ets, std::uint32_t priority);
// Share in percent of a traffic class that is in ETS.
std::optional<std::uint32_t> ShareOf(const v1::Ets& ets, std::uint32_t traffic_class);

enum class Pause { kUnknown, kOff, kOn };
Pause PauseOf(const fleet::PortView& port);  // Either direction

// PFC is off although the profile requires lossless RoCE, and the state of global pause is known.
// lossless_has_flow_control or pfc_instead_of_global_pause reports the port.
bool LacksPfcUnderLossless(const fleet::PortView& port);

// Source of DCB settings: "sys/class/net/eth0/qos" or "netlink dcb eth0".
std::string QosSource(const fleet::PortView& port);
std::string QosSource(const Member& member);
std::string CongestionSource(const Member& member);
std::string PauseSource(const fleet::PortView& port);

// A finding on one value of a port.
struct Mismatch {
  std::string_view what;
  std::string expected;
  std::string seen;
  std::string source;
  std::string basis;
};
// "<what> <seen>, expected <expected> (<basis>)"
void FailOn(const fleet::PortView& port, Mismatch mismatch, std::vector<v1::Remedy> remedies,
            Verdicts& out);

}  // namespace fabric::rules
