// What the rules on lossless RoCE have in common: which ports they look at, and how a port gives
// its traffic a priority. See kernel include/uapi/linux/dcbnl.h for what the numbers mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/rules/equality_rule.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/lossless/pfc.h"

namespace fabric::rules {

// IEEE 802.1Qaz, transmission selection algorithms.
inline constexpr std::uint32_t kTsaStrict = 0;
inline constexpr std::uint32_t kTsaEts = 2;

// Like in what they can be set to: the settings of drivers differ in what they mean.
std::optional<Group> ByRailAndDriver(const Member& port);

// A fabric port with RoCE that is up and not unused by design.
inline bool CarriesRoce(const fleet::PortView& port) {
  return port.carries_roce;
}

// Whose settings hold: the port's netdev, or the first member with DCB where that is a bond.
// nullptr: there is none.
inline const v1::NetInterface* WireOf(const fleet::PortView& port) {
  return port.wire;
}
// Name of the wire, for commands; the port's netdev where there is none.
const std::string& WireName(const fleet::PortView& port);

// DCB of a port that carries RoCE; nullptr when none was read.
const v1::DcbConfig* DcbOf(const fleet::PortView& port);
// The same for congestion control.
const v1::CongestionControl* CongestionOf(const fleet::PortView& port);

// PFC mask of a port that carries RoCE; see PfcMask.
std::optional<std::uint32_t> LosslessMask(const fleet::PortView& port);
bool Has(std::uint32_t mask, std::uint32_t priority);

// All ports of the node that carry RoCE, two at least, have the mask of this one: what differs from
// a rail then is no slip of one port.
bool PfcAlikeOnNode(const fleet::PortView& port);

// Priority that the port gives to a DSCP; nothing when it does not trust DSCP or the map is not
// known.
std::optional<std::uint32_t> PriorityOfDscp(const v1::DcbConfig& dcb, std::uint32_t dscp);

// DSCP and priority of RoCE data: what a profile says, else the driver; the priority else is that
// of the usual DSCP when it has PFC, or the only one with PFC. Nothing when in doubt.
std::optional<std::uint32_t> DataDscp(const fleet::PortView& port);
std::optional<std::uint32_t> DataPriority(const fleet::PortView& port);
inline constexpr std::uint32_t kUsualDataDscp = 26;
inline constexpr std::uint32_t kUsualCnpDscp = 48;

// Traffic class of a priority.
std::optional<std::uint32_t> ClassOf(const v1::Ets& ets, std::uint32_t priority);
// Share of a traffic class in percent, when it has one: it is in ETS.
std::optional<std::uint32_t> ShareOf(const v1::Ets& ets, std::uint32_t traffic_class);

enum class Pause { kUnknown, kOff, kOn };
Pause PauseOf(const fleet::PortView& port);  // Of either direction

// PFC is off though the profile wants RoCE lossless, and what global pause does is known.
bool LacksPfcUnderLossless(const fleet::PortView& port);

// Where DCB was read: "sys/class/net/eth0/qos" or "netlink dcb eth0".
std::string QosSource(const fleet::PortView& port);
std::string QosSource(const Member& member);
std::string CongestionSource(const Member& member);
std::string PauseSource(const fleet::PortView& port);

// A finding of one value on a port.
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

// A command of the kernel's own tool and the same with NVIDIA's, where the driver is mlx5.
std::vector<v1::Remedy> WithMlnxQos(const fleet::PortView& port, RemedyText any,
                                    std::string mlnx_qos_options);

// Sets a number of congestion control: `mlx5` is its file below MLNX_OFED's ecn/, empty: none;
// `bnxt` the one below bnxt_re's cc/.
std::vector<v1::Remedy> SetCongestion(const fleet::PortView& port, std::string_view mlx5,
                                      std::string_view bnxt, std::uint64_t number);

// Calls `judge` for each port of the node that carries RoCE.
template <class JudgePort>
void ForRocePorts(const fleet::NodeView& node, JudgePort judge) {
  for (const fleet::PortView& port : node.ports)
    if (CarriesRoce(port)) judge(port);
}

}  // namespace fabric::rules
