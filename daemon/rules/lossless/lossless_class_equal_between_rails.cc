#include <algorithm>
#include <map>

#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/product.h"
#include "daemon/rules/remedy.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"
#include "proto/ports.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint64_t kMembersMin = 2;  // Below: settings_equal_in_node compares the cards.
constexpr std::uint32_t kDscpValues = 64;

// What decides which packets of a port are lossless. Nothing where a profile has the values.
struct ClassSettings {
  PriorityMask lossless;
  std::optional<PriorityMask> pfc;
  std::optional<v1::Trust> trust;
  std::vector<std::uint32_t> map;  // DSCP to priority
  friend bool operator==(const ClassSettings&, const ClassSettings&) = default;
};

ClassSettings SettingsOf(const PortView& port) {
  ClassSettings settings;
  const v1::Expectations& expected = port.expected();
  const v1::DcbConfig& dcb = *DcbOf(port);
  settings.lossless = PfcMask(port).value_or(PriorityMask());
  if (!expected.has_pfc_priorities()) settings.pfc = settings.lossless;
  if (!expected.has_trust() && dcb.has_trust()) settings.trust = dcb.trust();
  if (!expected.has_data_priority() && dcb.trust() == v1::TRUST_DSCP)
    settings.map = {dcb.dscp_to_priority().begin(), dcb.dscp_to_priority().end()};
  return settings;
}

// Equal cards of equal nodes. If some cards of the node are near GPUs, only these: others may carry
// storage.
std::optional<Group> EqualCards(const Member& member) {
  const PortView& port = *member.port;
  if (!IsRoceHardware(member) || port.board.empty()) return {};
  const bool by_gpus = std::ranges::any_of(member.node->ports, IsNearGpu);
  if (by_gpus && !IsNearGpu(port)) return {};
  return Group{.like = port.board, .part = KindOf(port)};
}

std::optional<Value> RailAndSettings(const Member& member) {
  const PortView& port = *member.port;
  if (!PfcMask(port)) return {};
  const ClassSettings settings = SettingsOf(port);
  Mix mix;
  mix.Add(port.rail->value()).Add(settings.lossless.bits()).Add(settings.pfc ? 1 : 0);
  mix.Add(settings.trust ? static_cast<std::uint64_t>(*settings.trust) : ~0U);
  for (const std::uint32_t priority : settings.map) mix.Add(priority);
  return Value{mix.value()};
}

using Rails = std::map<std::uint32_t, const ValueCounts::Entry*>;

// The most frequent settings of each rail; no entry for a rail on which two are equally frequent.
Rails UsualByRail(const ValueCounts& counts) {
  Rails rails;
  std::map<std::uint32_t, std::uint64_t> rivals;
  for (const ValueCounts::Entry& entry : counts.values) {  // Largest first
    const std::uint32_t rail = entry.any.port->rail->value();
    if (!rails.try_emplace(rail, &entry).second)
      rivals[rail] = std::max(rivals[rail], entry.members);
  }
  std::erase_if(rails, [&](const auto& rail) {
    return rail.second->members < kMembersMin || rail.second->members == rivals[rail.first];
  });
  return rails;
}

// That of RoCE data, or the first DSCP that is lossless on one of two ports. Maps of lossy DSCPs
// may differ.
std::optional<std::uint32_t> DifferentDscp(const ClassSettings& a, const ClassSettings& b) {
  if (a.map.size() != kDscpValues || b.map.size() != kDscpValues) return {};
  const auto differs = [&](std::uint32_t dscp) {
    return a.lossless.Has(a.map[dscp]) != b.lossless.Has(b.map[dscp]);
  };
  if (differs(kUsualDataDscp)) return kUsualDataDscp;
  for (std::uint32_t dscp = 0; dscp < kDscpValues; ++dscp)
    if (differs(dscp)) return dscp;
  return {};
}

// The setting that two rails have differently, and its values.
struct Difference {
  std::string what;
  std::string first;
  std::string second;
};

std::optional<Difference> Compare(const ClassSettings& a, const ClassSettings& b) {
  if (a.pfc != b.pfc && a.pfc && b.pfc)
    return Difference{"PFC enabled priorities", ToText(*a.pfc), ToText(*b.pfc)};
  if (a.trust != b.trust && a.trust && b.trust)
    return Difference{"trust", std::string(Name(*a.trust)), std::string(Name(*b.trust))};
  if (const auto dscp = DifferentDscp(a, b))
    return Difference{Format("priority of DSCP {}", *dscp), Format("{}", a.map[*dscp]),
                      Format("{}", b.map[*dscp])};
  return {};
}

void Fail(const ValueCounts& counts, const Rails::value_type& usual, const Rails::value_type& other,
          const Difference& difference, Verdicts& out) {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_FLEET);
  const PortView& port = *other.second->any.port;
  const PortView& like = *usual.second->any.port;
  const auto evidence = [&](const PortView& of, const std::string& expected,
                            const std::string& seen) {
    return ToEvidence(*of.node, {.what = Format("{} of {}", difference.what, PortName(of)),
                                 .expected = expected,
                                 .seen = seen,
                                 .source = QosSource(of),
                                 .basis = Format("{} ports of {}", counts.members, of.board)});
  };
  v1::Remedy remedy =
      Query({.command = Format("dcb pfc show dev {0}; dcb app show dev {0}", WireName(port)),
             .note = Format("Decide which rail is right, compare its switches too, and set the "
                            "others up in the same way on all nodes. If rails {} and {} are for "
                            "different traffic, set the values in a profile.",
                            usual.first, other.first)});
  SetHost(port.node->name, remedy);
  out.Fail(std::move(subject),
           Format("{} {} on rail {} and {} on rail {}, expected the same: jobs use all rails with "
                  "one traffic class",
                  difference.what, difference.second, other.first, difference.first, usual.first),
           {evidence(port, difference.first, difference.second),
            evidence(like, difference.first, difference.first)},
           {std::move(remedy)},
           Format("{}/{}/{}", port.node->snapshot.host().product(), port.board, other.first));
  out.SetAffected({port.Subject()}, other.second->members);
}

void JudgeRails(const ValueCounts& counts, Verdicts& out) {
  const Rails rails = UsualByRail(counts);
  if (rails.size() < 2) return;
  std::vector<std::pair<ClassSettings, std::size_t>> frequent;
  for (const auto& [rail, entry] : rails) {
    const ClassSettings settings = SettingsOf(*entry->any.port);
    const auto known = std::ranges::find(
        frequent, settings, [](const auto& each) -> const auto& { return each.first; });
    if (known == frequent.end())
      frequent.emplace_back(settings, 1);
    else
      ++known->second;
  }
  const ClassSettings& most =
      std::ranges::max_element(frequent, {}, [](const auto& each) { return each.second; })->first;
  const auto usual = std::ranges::find_if(
      rails, [&](const auto& rail) { return SettingsOf(*rail.second->any.port) == most; });
  bool any = false;
  for (const auto& rail : rails) {
    const auto difference = Compare(most, SettingsOf(*rail.second->any.port));
    if (!difference) continue;
    Fail(counts, *usual, rail, *difference, out);
    any = true;
  }
  if (!any) out.Pass();
}

constexpr GroupRule kRails = {
    .group = EqualCards, .value = RailAndSettings, .judge_group = JudgeRails};

}  // namespace

extern const Rule lossless_class_equal_between_rails = {
    .id = "lossless_class_equal_between_rails",
    .title = "All rails of equal cards have the same lossless class",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_FLEET,
    .why =
        "A job has one traffic class for all its cards (NCCL_IB_TC). If a rail has PFC on other "
        "priorities, another trust, or other lossless DSCPs than the other rails, the class of the "
        "job can be lossless on some rails and lossy on others. All ports of the rail agree, so "
        "that no comparison within the rail shows it.",
    .source = "IEEE 802.1Qbb; NCCL_IB_TC",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kPfcPrioritiesFieldNumber, v1::Expectations::kTrustFieldNumber,
                v1::Expectations::kDataPriorityFieldNumber},
    .fix = "The same PFC, trust and map of DSCPs on all rails",
    .group_rule = &kRails,
};

}  // namespace fabric::rules
