#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/lossless/pfc.h"
#include "daemon/rules/product.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::size_t kDscps = 64;
constexpr std::size_t kUsualDscp = 26;  // What most vendors' recipes give to RoCE data.

// How the ports of a rail classify RoCE. Without a profile the DSCPs that RoCE uses are guessed:
// 26 when half of the ports or more give it a priority with PFC, else every DSCP of which that is
// true. PFC's own differences are pfc_equal_on_rail's: the map is held against what is expected of
// PFC, not against what the port has.
struct Rail {
  std::uint32_t lossless = 0;   // Priorities with PFC on most ports
  bool usually_trusts = false;  // Half of the ports or more trust DSCP
  std::span<const std::uint64_t> dscps;
  GroupSummary::Shown trusting;  // How many trust DSCP
  GroupSummary::Shown covering;  // How many give dscps[0] a priority with PFC
};

const v1::DcbConfig* JudgedDcb(const PortView& port) {
  return PfcMask(port) ? SettingsOf(port) : nullptr;
}

// The profile says what the port must trust, and it does not, or where RoCE's DSCP must go: rules
// of their own look at that (trust_equal_on_rail, data_dscp_has_data_priority).
bool ProfileDecides(const PortView& port) {
  const v1::Expectations& expected = port.expected();
  if (expected.has_trust() &&
      (expected.trust() != v1::TRUST_DSCP || SettingsOf(port)->trust() != v1::TRUST_DSCP))
    return true;
  return expected.has_data_dscp() && expected.has_data_priority();
}

bool HasMap(const v1::DcbConfig& dcb) {
  return static_cast<std::size_t>(dcb.dscp_to_priority_size()) == kDscps;
}

bool Covers(const v1::DcbConfig& dcb, std::size_t dscp, std::uint32_t lossless) {
  const std::uint32_t priority = dcb.dscp_to_priority(static_cast<int>(dscp));
  return priority < 8 && (lossless >> priority & 1) != 0;
}

// All that the survey looks at, as one number: few kinds of ports are on a rail.
std::optional<Value> Settings(const Member& member) {
  const auto mask = PfcMask(*member.port);
  if (!mask) return {};
  const v1::DcbConfig& dcb = *SettingsOf(*member.port);
  Mix mix;
  mix.Add(*mask).Add(dcb.has_trust() ? static_cast<std::uint64_t>(dcb.trust()) : ~0U);
  for (const std::uint32_t priority : dcb.dscp_to_priority()) mix.Add(priority);
  return Value{mix.value()};
}

// Priorities with PFC on most ports; where several kinds are as many, on any of these.
std::uint32_t LosslessOf(const ValueCounts& counts) {
  std::map<std::uint64_t, std::uint64_t> ports;  // By mask
  for (const ValueCounts::Entry& entry : counts.values)
    ports[*PfcMask(*entry.any.port)] += entry.members;
  std::uint64_t most = 0;
  for (const auto& [mask, count] : ports) most = std::max(most, count);
  std::uint64_t lossless = 0;
  for (const auto& [mask, count] : ports)
    if (count == most) lossless |= mask;
  return static_cast<std::uint32_t>(lossless);
}

GroupSummary SummaryOf(const ValueCounts& counts) {
  const std::uint32_t lossless = LosslessOf(counts);
  std::array<std::uint64_t, kDscps> covering = {};
  std::uint64_t known = 0;
  std::uint64_t trusting = 0;
  std::uint64_t maps = 0;
  for (const ValueCounts::Entry& entry : counts.values) {
    const v1::DcbConfig& dcb = *SettingsOf(*entry.any.port);
    if (!dcb.has_trust()) continue;
    known += entry.members;
    if (dcb.trust() != v1::TRUST_DSCP) continue;
    trusting += entry.members;
    if (!HasMap(dcb)) continue;
    maps += entry.members;
    for (std::size_t dscp = 0; dscp < kDscps; ++dscp)
      if (Covers(dcb, dscp, lossless)) covering[dscp] += entry.members;
  }
  const auto is_used = [&](std::size_t dscp) {
    return covering[dscp] > 0 && 2 * covering[dscp] >= maps;
  };
  GroupSummary summary{.facts = {lossless, 2 * trusting >= known ? 1U : 0U}, .shown = {}};
  for (std::size_t dscp = 0; dscp < kDscps; ++dscp)
    if (is_used(kUsualDscp) ? dscp == kUsualDscp : is_used(dscp)) summary.facts.push_back(dscp);
  const std::uint64_t first = summary.facts.size() > 2 ? covering[summary.facts[2]] : 0;
  summary.shown = {{.count = trusting, .of = known}, {.count = first, .of = trusting}};
  return summary;
}

Rail RailOf(const GroupSummary& summary) {
  return {.lossless = static_cast<std::uint32_t>(summary.facts[0]),
          .usually_trusts = summary.facts[1] != 0,
          .dscps = std::span(summary.facts).subspan(2),
          .trusting = summary.shown[0],
          .covering = summary.shown[1]};
}

// A command needs one priority and one DSCP.
std::size_t LowestBit(std::uint32_t mask) {
  std::size_t bit = 0;
  while (bit < 7 && (mask >> bit & 1) == 0) ++bit;
  return bit;
}

std::vector<v1::Remedy> Remedies(const PortView& port, const Rail& rail, std::size_t dscp) {
  const std::string& netdev = port.port->netdev();
  const std::size_t priority = LowestBit(rail.lossless);
  const std::string dcb = Format("dcb app replace dev {} dscp-prio {}:{}", netdev, dscp, priority);
  const std::string_view driver = DriverOf(port);
  if (driver.starts_with("mlx5"))
    return {
        ToRemedy({.command = dcb, .note = "The first DSCP entry also makes the port trust DSCP."}),
        ToRemedy({.platform = "mlx5",
                  .command = Format("mlnx_qos -i {0} --trust dscp && "
                                    "mlnx_qos -i {0} --dscp2prio set,{1},{2}",
                                    netdev, dscp, priority),
                  .note = "The same with NVIDIA's tool."})};
  if (driver.starts_with("ice"))
    return {ToRemedy({.platform = "ice",
                      .command = Format("dcb app flush dev {0} dscp-prio && {1}", netdev, dcb),
                      .interrupts_traffic = true,
                      .note = "The driver changes no entry that exists. The firmware's LLDP agent "
                              "must be off."})};
  if (driver.starts_with("bnxt"))
    return {ToRemedy({.platform = "bnxt",
                      .command = dcb,
                      .note = "Refused while an LLDP agent runs in the firmware."})};
  return {ToRemedy({.command = dcb})};
}

std::size_t UsedDscp(const Rail& rail) {
  return rail.dscps.empty() ? kUsualDscp : rail.dscps[0];
}

void FailTrust(const PortView& port, const Rail& rail, std::string basis, Verdicts& out) {
  out.Fail(port.Subject(),
           Format("port trusts PCP, expected trust in DSCP: untagged RoCE goes to priority 0, and "
                  "PFC is on for {}",
                  PriorityMask(rail.lossless)),
           {ToEvidence(*port.node, {.what = "trust",
                                    .expected = "dscp",
                                    .seen = "pcp",
                                    .source = DcbSource(port),
                                    .basis = std::move(basis)})},
           Remedies(port, rail, UsedDscp(rail)));
}

// RoCE frames without a VLAN tag have no PCP.
bool SendsUntagged(const PortView& port) {
  const v1::Gid* gid = fleet::UsableGid(*port.device, *port.port);
  return gid != nullptr && gid->has_netdev() && gid->netdev() == port.port->netdev();
}

void JudgePcp(const PortView& port, const Rail& rail, Verdicts& out) {
  if ((rail.lossless & 1) != 0) {
    out.Pass();
  } else if (rail.usually_trusts) {
    FailTrust(port, rail, Format("{} nodes on rail {}", ToText(rail.trusting), port.rail->value()),
              out);
  } else if (SendsUntagged(port)) {
    FailTrust(port, rail, "its RoCE address is on no VLAN", out);
  } else {
    out.Unknown(port.Subject(), "port trusts PCP: the priority in the VLAN tags is not known here",
                {NotReadable(port, "PCP of RoCE frames", DcbSource(port))});
  }
}

void FailMap(const PortView& port, const Rail& rail, std::size_t dscp, Verdicts& out) {
  const std::string lossless = PriorityMask(rail.lossless);
  const auto seen = SettingsOf(port)->dscp_to_priority(static_cast<int>(dscp));
  out.Fail(
      port.Subject(),
      Format("DSCP {} goes to priority {}, expected a priority with PFC ({})", dscp, seen,
             lossless),
      {ToEvidence(*port.node, {.what = Format("priority of DSCP {}", dscp),
                               .expected = lossless,
                               .seen = Format("{}", seen),
                               .source = DcbSource(port),
                               .basis = port.expected().has_data_dscp()
                                            ? ProfileBasis(*port.expectation)
                                            : Format("{} nodes on rail {} give it one with PFC",
                                                     ToText(rail.covering), port.rail->value())})},
      Remedies(port, rail, dscp));
}

void FailNothingCovered(const PortView& port, const Rail& rail, Verdicts& out) {
  const std::string lossless = PriorityMask(rail.lossless);
  out.Fail(port.Subject(),
           Format("no DSCP goes to a priority with PFC, expected one to go to {}", lossless),
           {ToEvidence(*port.node, {.what = "DSCPs with a priority that has PFC",
                                    .expected = "at least one",
                                    .seen = "none",
                                    .source = DcbSource(port),
                                    .basis = Format("PFC is on for {}", lossless)})},
           Remedies(port, rail, UsedDscp(rail)));
}

void JudgePort(const PortView& port, const Rail& rail, Verdicts& out) {
  const v1::DcbConfig& dcb = *JudgedDcb(port);
  if (dcb.trust() == v1::TRUST_PCP) return JudgePcp(port, rail, out);
  if (dcb.trust() != v1::TRUST_DSCP || !HasMap(dcb)) {
    out.Unknown(port.Subject(),
                dcb.trust() == v1::TRUST_DSCP ? "map of DSCP to priority could not be read"
                                              : "what the port trusts, PCP or DSCP, is not known",
                {NotReadable(port, "trust and map of DSCP to priority", DcbSource(port))});
    return;
  }
  if (port.expected().has_data_dscp()) {
    const std::size_t dscp = port.expected().data_dscp() % kDscps;
    return Covers(dcb, dscp, rail.lossless) ? out.Pass() : FailMap(port, rail, dscp, out);
  }
  if (rail.dscps.empty()) return FailNothingCovered(port, rail, out);
  for (const std::size_t dscp : rail.dscps)
    if (!Covers(dcb, dscp, rail.lossless)) return FailMap(port, rail, dscp, out);
  out.Pass();
}

void Judge(const Member& member, const GroupSummary& summary, Verdicts& out) {
  const PortView& port = *member.port;
  if (summary.facts[0] == 0) return;  // PFC is off: there is nothing that must cover anything.
  if (ProfileDecides(port)) return;
  JudgePort(port, RailOf(summary), out);
}

constexpr GroupRule kGroupRule = {.value = Settings, .summarize = SummaryOf, .judge = Judge};

}  // namespace

extern const Rule pfc_covers_roce_dscp = {
    .id = "pfc_covers_roce_dscp",
    .title = "Where PFC is on, the DSCP of RoCE data goes to a priority that has it",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "PFC protects only the priorities it is on for. A port that gives RoCE another priority, "
        "or trusts PCP although RoCE comes without VLAN tags, is lossy while every setting of "
        "PFC looks right. RoCE's DSCP is taken to be 26 when half of the ports of the rail or "
        "more give it a priority with PFC, else all DSCPs of which that is true.",
    .source = "IEEE 802.1Qaz (APP table, selector 5); kernel include/uapi/linux/dcbnl.h",
    .needs = {Input::kDcb, Input::kGids},
    .profile = {v1::Expectations::kDataDscpFieldNumber, v1::Expectations::kDataPriorityFieldNumber,
                v1::Expectations::kTrustFieldNumber},
    .fix = "dcb app replace dev NETDEV dscp-prio DSCP:PRIORITY",
    .group_rule = &kGroupRule,
};

}  // namespace fabric::rules
