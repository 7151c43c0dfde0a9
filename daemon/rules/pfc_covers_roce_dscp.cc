#include <array>

#include "base/text.h"
#include "daemon/rules/camps.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/pfc.h"
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
  std::uint32_t lossless = 0;  // Priorities with PFC on most ports
  std::size_t known = 0;       // Ports of which the trust is known
  std::size_t trust_dscp = 0;
  std::size_t covering = 0;  // Ports that give dscps[0] a priority with PFC
  std::vector<std::size_t> dscps;
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

Rail Survey(const std::vector<PortView>& ports) {
  Rail rail;
  rail.lossless = static_cast<std::uint32_t>(Camps(ports, PfcMask).LargestUnion());
  std::array<std::size_t, kDscps> covering = {};
  std::size_t maps = 0;
  for (const PortView& port : ports) {
    const v1::DcbConfig* dcb = JudgedDcb(port);
    if (dcb == nullptr || !dcb->has_trust()) continue;
    ++rail.known;
    if (dcb->trust() != v1::TRUST_DSCP) continue;
    ++rail.trust_dscp;
    if (!HasMap(*dcb)) continue;
    ++maps;
    for (std::size_t dscp = 0; dscp < kDscps; ++dscp)
      if (Covers(*dcb, dscp, rail.lossless)) ++covering[dscp];
  }
  const auto is_used = [&](std::size_t dscp) {
    return covering[dscp] > 0 && 2 * covering[dscp] >= maps;
  };
  for (std::size_t dscp = 0; dscp < kDscps; ++dscp)
    if (is_used(dscp)) rail.dscps.push_back(dscp);
  if (is_used(kUsualDscp)) rail.dscps = {kUsualDscp};
  if (!rail.dscps.empty()) rail.covering = covering[rail.dscps[0]];
  return rail;
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
  } else if (2 * rail.trust_dscp >= rail.known) {
    FailTrust(port, rail,
              Format("{} of {} nodes on rail {}", rail.trust_dscp, rail.known, port.rail->value()),
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
      {ToEvidence(*port.node,
                  {.what = Format("priority of DSCP {}", dscp),
                   .expected = lossless,
                   .seen = Format("{}", seen),
                   .source = DcbSource(port),
                   .basis = port.expected().has_data_dscp()
                                ? ProfileBasis(*port.expectation)
                                : Format("{} of {} nodes on rail {} give it one with PFC",
                                         rail.covering, rail.trust_dscp, port.rail->value())})},
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

void Evaluate(const fleet::FleetView& fleet, Verdicts& out) {
  for (const std::vector<PortView>& ports : fleet.rails()) {
    const Rail rail = Survey(ports);
    if (rail.lossless == 0) continue;  // PFC is off: there is nothing that must cover anything.
    for (const PortView& port : ports)
      if (JudgedDcb(port) != nullptr && !ProfileDecides(port)) JudgePort(port, rail, out);
  }
}

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
    .family = "lossless",
    .needs = "dcb, gids",
    .profile = "data_dscp data_priority trust",
    .fix = "dcb app replace dev NETDEV dscp-prio DSCP:PRIORITY",
    .evaluate_fleet = Evaluate,
};

}  // namespace fabric::rules
