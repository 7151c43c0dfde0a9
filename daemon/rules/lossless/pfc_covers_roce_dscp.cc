#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/product.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::size_t kDscpValues = 64;

// Classification of RoCE on a rail. Without a profile the DSCPs of RoCE are inferred: 26 when at
// least half of the ports map it to a priority with PFC, else every DSCP for which that is true.
// The rule compares the map with the PFC mask of most ports, not of the port itself:
// pfc_equal_on_rail reports PFC that differs.
struct Rail {
  PriorityMask lossless;        // Priorities with PFC on most ports
  bool usually_trusts = false;  // At least half of the ports trust DSCP
  std::span<const std::uint64_t> dscps;
  GroupSummary::Shown trusting;  // Ports that trust DSCP
  GroupSummary::Shown covering;  // Ports that map dscps[0] to a priority with PFC
};

// trust_equal_on_rail or data_dscp_has_data_priority compares with the profile: it names the trust,
// and the port has another one, or it names the priority of the DSCP.
bool ProfileDecides(const PortView& port) {
  const v1::Expectations& expected = port.expected();
  if (expected.has_trust() &&
      (expected.trust() != v1::TRUST_DSCP || DcbOf(port)->trust() != v1::TRUST_DSCP))
    return true;
  return expected.has_data_dscp() && expected.has_data_priority();
}

bool HasMap(const v1::DcbConfig& dcb) {
  return static_cast<std::size_t>(dcb.dscp_to_priority_size()) == kDscpValues;
}

bool Covers(const v1::DcbConfig& dcb, std::size_t dscp, PriorityMask lossless) {
  return lossless.Has(dcb.dscp_to_priority(static_cast<int>(dscp)));
}

// Hash of all that the summary reads: few different ports are on a rail.
std::optional<Value> Settings(const Member& member) {
  const auto mask = PfcMask(*member.port);
  if (!mask) return {};
  const v1::DcbConfig& dcb = *DcbOf(*member.port);
  Mix mix;
  mix.Add(mask->bits()).Add(dcb.has_trust() ? static_cast<std::uint64_t>(dcb.trust()) : ~0U);
  for (const std::uint32_t priority : dcb.dscp_to_priority()) mix.Add(priority);
  return Value{mix.value()};
}

// Priorities with PFC on most ports; the union where several masks are equally frequent.
PriorityMask LosslessOf(const ValueCounts& counts) {
  std::map<PriorityMask, std::uint64_t> ports;
  for (const ValueCounts::Entry& entry : counts.values)
    ports[*PfcMask(*entry.any.port)] += entry.members;
  std::uint64_t most = 0;
  for (const auto& [mask, count] : ports) most = std::max(most, count);
  std::uint32_t lossless = 0;
  for (const auto& [mask, count] : ports)
    if (count == most) lossless |= mask.bits();
  return PriorityMask(lossless);
}

GroupSummary Summarize(const ValueCounts& counts) {
  const PriorityMask lossless = LosslessOf(counts);
  std::array<std::uint64_t, kDscpValues> covering = {};
  std::uint64_t known = 0;
  std::uint64_t trusting = 0;
  std::uint64_t maps = 0;
  for (const ValueCounts::Entry& entry : counts.values) {
    const v1::DcbConfig& dcb = *DcbOf(*entry.any.port);
    if (!dcb.has_trust()) continue;
    known += entry.members;
    if (dcb.trust() != v1::TRUST_DSCP) continue;
    trusting += entry.members;
    if (!HasMap(dcb)) continue;
    maps += entry.members;
    for (std::size_t dscp = 0; dscp < kDscpValues; ++dscp)
      if (Covers(dcb, dscp, lossless)) covering[dscp] += entry.members;
  }
  const auto is_used = [&](std::size_t dscp) {
    return covering[dscp] > 0 && 2 * covering[dscp] >= maps;
  };
  GroupSummary summary{.facts = {lossless.bits(), 2 * trusting >= known ? 1U : 0U}, .shown = {}};
  for (std::size_t dscp = 0; dscp < kDscpValues; ++dscp)
    if (is_used(kUsualDataDscp) ? dscp == kUsualDataDscp : is_used(dscp))
      summary.facts.push_back(dscp);
  const std::uint64_t first = summary.facts.size() > 2 ? covering[summary.facts[2]] : 0;
  summary.shown = {{.count = trusting, .of = known}, {.count = first, .of = trusting}};
  return summary;
}

Rail RailOf(const GroupSummary& summary) {
  return {.lossless = PriorityMask(summary.facts[0]),
          .usually_trusts = summary.facts[1] != 0,
          .dscps = std::span(summary.facts).subspan(2),
          .trusting = summary.shown[0],
          .covering = summary.shown[1]};
}

std::vector<v1::Remedy> Remedies(const PortView& port, const Rail& rail, std::size_t dscp) {
  return SetDscpPriority(port, static_cast<std::uint32_t>(dscp), rail.lossless.lowest());
}

// The DSCP of the profile or the driver, else the one that the rail uses.
std::vector<v1::Remedy> MapUsedDscp(const PortView& port, const Rail& rail) {
  if (const auto dscp = DataDscp(port)) return Remedies(port, rail, *dscp);
  if (!rail.dscps.empty()) return Remedies(port, rail, rail.dscps[0]);
  return {
      Advice(Format("Map the DSCP that jobs and switches use for RoCE to priority {}: dcb app "
                    "replace dev {} dscp-prio DSCP:{}. State data_dscp in the profile to get "
                    "the command.",
                    rail.lossless.lowest(), WireName(port), rail.lossless.lowest()))};
}

void FailTrust(const PortView& port, const Rail& rail, std::string basis, Verdicts& out) {
  out.Fail(port.Subject(),
           Format("port trusts PCP, expected trust in DSCP: untagged RoCE has priority 0, and "
                  "PFC is on for {}",
                  ToText(rail.lossless)),
           {ToEvidence(*port.node, {.what = "trust",
                                    .expected = "dscp",
                                    .seen = "pcp",
                                    .source = QosSource(port),
                                    .basis = std::move(basis)})},
           MapUsedDscp(port, rail));
}

// RoCE frames without a VLAN tag have no PCP.
bool SendsUntagged(const PortView& port) {
  const v1::Gid* gid = fleet::UsableGid(*port.device, *port.port);
  return gid != nullptr && gid->has_netdev() && gid->netdev() == port.port->netdev();
}

void JudgePcp(const PortView& port, const Rail& rail, Verdicts& out) {
  if (rail.lossless.Has(0)) {
    out.Pass();
  } else if (rail.usually_trusts) {
    FailTrust(port, rail, Format("{} nodes on rail {}", ToText(rail.trusting), port.rail->value()),
              out);
  } else if (SendsUntagged(port)) {
    FailTrust(port, rail, "the RoCE address of the port is not on a VLAN", out);
  } else {
    out.Unknown(port.Subject(), "port trusts PCP: the priority in the VLAN tags is not known",
                {NotReadable(port, "PCP of RoCE frames", QosSource(port))});
  }
}

void FailMap(const PortView& port, const Rail& rail, std::size_t dscp, Verdicts& out) {
  const std::string lossless = ToText(rail.lossless);
  const auto seen = DcbOf(port)->dscp_to_priority(static_cast<int>(dscp));
  out.Fail(
      port.Subject(),
      Format("DSCP {} maps to priority {}, expected a priority with PFC ({})", dscp, seen,
             lossless),
      {ToEvidence(*port.node, {.what = Format("priority of DSCP {}", dscp),
                               .expected = lossless,
                               .seen = Format("{}", seen),
                               .source = QosSource(port),
                               .basis = port.expected().has_data_dscp()
                                            ? ProfileBasis(*port.expectation)
                                            : Format("{} nodes on rail {} map it to one with PFC",
                                                     ToText(rail.covering), port.rail->value())})},
      Remedies(port, rail, dscp));
}

void FailNothingCovered(const PortView& port, const Rail& rail, Verdicts& out) {
  const std::string lossless = ToText(rail.lossless);
  out.Fail(port.Subject(),
           Format("no DSCP maps to a priority with PFC ({}), expected at least one", lossless),
           {ToEvidence(*port.node, {.what = "DSCPs that map to a priority with PFC",
                                    .expected = "at least one",
                                    .seen = "none",
                                    .source = QosSource(port),
                                    .basis = Format("PFC is on for {}", lossless)})},
           MapUsedDscp(port, rail));
}

void JudgePort(const PortView& port, const Rail& rail, Verdicts& out) {
  const v1::DcbConfig& dcb = *DcbOf(port);
  if (dcb.trust() == v1::TRUST_PCP) return JudgePcp(port, rail, out);
  if (dcb.trust() != v1::TRUST_DSCP || !HasMap(dcb)) {
    out.Unknown(port.Subject(),
                dcb.trust() == v1::TRUST_DSCP ? "map of DSCP to priority could not be read"
                                              : "trust of the port (PCP or DSCP) is not known",
                {NotReadable(port, "trust and map of DSCP to priority", QosSource(port))});
    return;
  }
  if (port.expected().has_data_dscp()) {
    const std::size_t dscp = port.expected().data_dscp() % kDscpValues;
    return Covers(dcb, dscp, rail.lossless) ? out.Pass() : FailMap(port, rail, dscp, out);
  }
  if (rail.dscps.empty()) return FailNothingCovered(port, rail, out);
  for (const std::size_t dscp : rail.dscps)
    if (!Covers(dcb, dscp, rail.lossless)) return FailMap(port, rail, dscp, out);
  out.Pass();
}

void JudgeCoverage(const Member& member, const GroupSummary& summary, Verdicts& out) {
  const PortView& port = *member.port;
  if (summary.facts[0] == 0) return;  // PFC is off
  if (ProfileDecides(port)) return;
  JudgePort(port, RailOf(summary), out);
}

constexpr GroupRule kMaps = {.value = Settings, .summarize = Summarize, .judge = JudgeCoverage};

}  // namespace

extern const Rule pfc_covers_roce_dscp = {
    .id = "pfc_covers_roce_dscp",
    .title = "Where PFC is on, the DSCP of RoCE data maps to a priority with PFC",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "PFC protects only the priorities for which it is on. A port that maps RoCE to another "
        "priority, or trusts PCP although RoCE has no VLAN tags, is lossy while every PFC setting "
        "looks right. The DSCP of RoCE is assumed to be 26 when at least half of the ports of the "
        "rail map it to a priority with PFC, else all DSCPs for which that is true.",
    .source = "IEEE 802.1Qaz (APP table, selector 5); kernel include/uapi/linux/dcbnl.h",
    .needs = {Input::kDcb, Input::kGids},
    .profile = {v1::Expectations::kDataDscpFieldNumber, v1::Expectations::kDataPriorityFieldNumber,
                v1::Expectations::kTrustFieldNumber},
    .fix = "dcb app replace dev NETDEV dscp-prio DSCP:PRIORITY",
    .group_rule = &kMaps,
};

}  // namespace fabric::rules
