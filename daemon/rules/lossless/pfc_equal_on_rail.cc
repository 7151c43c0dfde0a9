#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/pfc_capability.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {

namespace {

using fleet::PortView;

// "3:on 4:on", nothing for none.
std::string Switches(std::uint64_t mask) {
  std::string words;
  for (unsigned priority = 0; priority < 8; ++priority)
    if ((mask >> priority & 1) != 0) words += Format(" {}:on", priority);
  return words;
}

// "0,0,0,1,0,0,0,0"
std::string Flags(std::uint64_t mask) {
  std::vector<std::string> flags;
  for (unsigned priority = 0; priority < 8; ++priority)
    flags.push_back(Format("{}", mask >> priority & 1));
  return Join(flags, ",");
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& value) {
  const PortView& port = *member.port;
  const std::uint64_t expected = value.number;
  const std::string& netdev = port.port->netdev();
  const std::string dcb =
      Format("dcb pfc set dev {} prio-pfc all:off{}", netdev, Switches(expected));
  const std::string_view driver = DriverOf(port);
  if (driver.starts_with("mlx5"))
    return {ToRemedy(
                {.command = dcb, .interrupts_traffic = true, .note = "The link goes down and up."}),
            ToRemedy({.platform = "mlx5",
                      .command = Format("mlnx_qos -i {} --pfc {}", netdev, Flags(expected)),
                      .interrupts_traffic = true,
                      .note = "The same with NVIDIA's tool."})};
  if (driver.starts_with("bnxt"))
    return {ToRemedy({.platform = "bnxt",
                      .command = dcb,
                      .interrupts_traffic = true,
                      .note = "ETS must be set before PFC, and no LLDP agent may run in the "
                              "firmware; both are refused otherwise."})};
  if (driver.starts_with("ice"))
    return {ToRemedy(
        {.platform = "ice",
         .command = Format("ethtool --set-priv-flags {} fw-lldp-agent off && {}", netdev, dcb),
         .interrupts_traffic = true,
         .note = "While the firmware's LLDP agent is on, the switch decides. One "
                 "traffic class at most may have PFC."})};
  return {ToRemedy({.command = dcb, .interrupts_traffic = true})};
}

// Without any PFC under a lossless profile the port is lossless_has_flow_control's business, or
// pfc_instead_of_global_pause's; with more of it than the card can do, pfc_within_capability's.
bool IsReportedElsewhere(const PortView& port) {
  return LacksPfcUnderLossless(port) || ExceedsPfcLimit(port);
}

std::optional<Value> MaskOf(const Member& member) {
  if (IsReportedElsewhere(*member.port)) return {};
  const auto mask = PfcMask(*member.port);
  return mask ? std::optional(Value{*mask}) : std::nullopt;
}

bool IsNeeded(const Member& member) {
  return CarriesRoce(*member.port) && !IsReportedElsewhere(*member.port);
}

std::optional<Value> Expected(const v1::Expectations& expected) {
  if (!expected.has_pfc_priorities()) return {};
  std::uint64_t mask = 0;
  for (const std::uint32_t priority : expected.pfc_priorities().priorities())
    mask |= std::uint64_t{1} << (priority & 7U);
  return Value{mask};
}

std::string Source(const Member& member) {
  return DcbSource(*member.port);
}

constexpr EqualityRule kEqualityRules[] = {{.what = "PFC enabled priorities",
                                            .value = MaskOf,
                                            .needed = IsNeeded,
                                            .expected = Expected,
                                            .show = ShowPriorities,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule pfc_equal_on_rail = {
    .id = "pfc_equal_on_rail",
    .title = "All RoCE ports of a rail have PFC on for the same priorities",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A port without PFC on the priority that the others use loses packets under incast, and "
        "one lost packet stalls a whole RoCE connection. Nothing shows until the fabric is "
        "loaded. The priorities of most ports of the rail are expected; without a majority the "
        "rail is reported, and nobody blamed.",
    .source = "IEEE 802.1Qbb; kernel include/uapi/linux/dcbnl.h (struct ieee_pfc)",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kPfcPrioritiesFieldNumber},
    .fix = "dcb pfc set dev NETDEV prio-pfc all:off PRIORITY:on",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
