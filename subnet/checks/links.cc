// Checks of cables: both ends, and rates.
#include <algorithm>
#include <map>
#include <tuple>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

void JudgeMutual(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  std::size_t lost_lines = 0;
  for (const Cable& cable : subnet.one_sided()) {
    if (subnet.node(cable.to.node).can_lack_cables) {
      ++lost_lines;
      continue;
    }
    out.Fail({.subject = SubjectOf(subnet, cable),
              .key = std::to_string(cable.from.port),
              .title = Format("one-sided cable {}: {} does not list it", CableWords(subnet, cable),
                              NodeWords(subnet.node(cable.to.node))),
              .what = "ends that list the cable",
              .expected = "2",
              .seen = "1",
              .remedies = CableRemedies(subnet, cable,
                                        "Make the file again. If the end is still missing, check "
                                        "the state of this port on both ends.")});
  }
  const std::size_t cables = subnet.Cables().size();
  out.Pass(cables - std::min(cables, subnet.one_sided().size()));
  if (lost_lines > 0)
    out.Unknown(
        Format("{} cables have one end in a section with bad lines, or in the last section "
               "of a file: make the file again",
               lost_lines));
}

// PortInfo shows FDR10 as QDR: only an attribute of the vendor distinguishes them, which needs
// rights of the subnet manager. A link that can do FDR at most may be at FDR10, the fastest rate of
// its cable.
bool MayBeFdr10(const Subnet& subnet, Rate active, Rate best) {
  return subnet.reading() && active.speed == Speed::kQdr && active.lanes >= best.lanes &&
         best.speed > Speed::kQdr && best.speed <= Speed::kFdr;
}

void JudgeEnabled(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  std::size_t unread = 0;
  std::size_t ambiguous = 0;
  for (const Cable& cable : subnet.Cables()) {
    const Port& from = subnet.port(cable.from);
    const Port& to = subnet.port(cable.to);
    const Rate active = from.rate.known() ? from.rate : to.rate;
    if (!from.enabled || !to.enabled || !active.known()) {
      ++unread;
      continue;
    }
    const Rate best{std::min(from.enabled->lanes, to.enabled->lanes),
                    std::min(from.enabled->speed, to.enabled->speed)};
    if (active.lanes >= best.lanes && active.speed >= best.speed) {
      out.Pass();
      continue;
    }
    if (MayBeFdr10(subnet, active, best)) {
      ++ambiguous;
      continue;
    }
    out.Fail({.subject = SubjectOf(subnet, cable),
              .key = std::to_string(cable.from.port),
              .title = Format("{}: {}, expected {}", CableWords(subnet, cable), ToString(active),
                              ToString(best)),
              .what = "active width and speed",
              .expected = ToString(best),
              .seen = ToString(active),
              .basis = "enabled at both ends",
              .remedies = CableRemedies(subnet, cable, "Reseat the cable, then replace it.")});
  }
  if (ambiguous > 0)
    out.Unknown(
        Format("speed of {} with FDR support: QDR or FDR10. PortInfo does not distinguish them; "
               "add the output of ibnetdiscover",
               Plural(ambiguous, "cable")));
  if (unread > 0)
    out.Unknown(
        Format("enabled width and speed of {} cables: read the subnet with 'fabric-agent subnet "
               "read'",
               unread));
}

// Cables that should have one rate: ends of the same levels and models.
using Tier = std::tuple<int, int, std::uint32_t, std::uint32_t>;

int LevelOf(const CheckInput& input, std::uint32_t node) {
  const std::uint32_t index = input.graph.IndexOf(node);
  if (index == kNoSwitch) return -1;
  return input.levels.tree ? input.levels.level[index] : 0;
}

Tier TierOf(const CheckInput& input, const Cable& cable) {
  const int from = LevelOf(input, cable.from.node);
  const int to = LevelOf(input, cable.to.node);
  const std::uint32_t from_model = input.subnet().node(cable.from.node).device_id;
  const std::uint32_t to_model = input.subnet().node(cable.to.node).device_id;
  if (std::pair(from, from_model) <= std::pair(to, to_model))
    return {from, to, from_model, to_model};
  return {to, from, to_model, from_model};
}

struct RatedCable {
  Cable cable;
  Rate rate;
};

void JudgeTier(const Subnet& subnet, const std::vector<RatedCable>& cables, Verdicts& out) {
  std::map<std::string, std::size_t> counts;
  for (const RatedCable& each : cables) ++counts[ToString(each.rate)];
  const auto most = MajorityOf(counts, cables.size());
  if (most == counts.end()) return out.Pass(cables.size());
  const Rate expected = *ParseRate(most->first);
  for (const RatedCable& each : cables) {
    if (each.rate.GigabitsPerSecond() >= expected.GigabitsPerSecond()) {
      out.Pass();
      continue;
    }
    out.Fail({.subject = SubjectOf(subnet, each.cable),
              .key = std::to_string(each.cable.from.port),
              .title = Format("{}: {}, expected {}", CableWords(subnet, each.cable),
                              ToString(each.rate), ToString(expected)),
              .what = "active width and speed",
              .expected = ToString(expected),
              .seen = ToString(each.rate),
              .basis = Format("{} of {} cables of this tier", most->second, cables.size()),
              .remedies = CableRemedies(subnet, each.cable, "Reseat the cable, then replace it.")});
  }
}

void JudgeTiers(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  std::map<Tier, std::vector<RatedCable>> tiers;
  std::size_t unread = 0;
  for (const Cable& cable : subnet.Cables()) {
    // They have fewer lanes than other adapters.
    if (IsAggregationNode(subnet.node(cable.from.node)) ||
        IsAggregationNode(subnet.node(cable.to.node)))
      continue;
    const Rate rate = subnet.port(cable.from).rate.known() ? subnet.port(cable.from).rate
                                                           : subnet.port(cable.to).rate;
    if (rate.known())
      tiers[TierOf(input, cable)].push_back({cable, rate});
    else
      ++unread;
  }
  for (const auto& [tier, cables] : tiers) JudgeTier(subnet, cables, out);
  if (unread > 0)
    out.Unknown(
        Format("the rates of {} cables are unknown: add the output of ibnetdiscover "
               "(opensm 3.3 does not write HDR and faster ones)",
               unread));
}

}  // namespace

extern const Check subnet_cable_mutual = {
    .id = "subnet_cable_mutual",
    .title = "Both ends list each cable",
    .severity = v1::SEVERITY_ERROR,
    .why = "A cable that one end does not list was up on one side only.",
    .judge = JudgeMutual};

extern const Check subnet_rate_as_enabled = {
    .id = "subnet_rate_as_enabled",
    .title = "Each link has the width and speed that both ends have enabled",
    .severity = v1::SEVERITY_ERROR,
    .why = "A link trains to a lower rate if a lane or the cable is bad.",
    .judge = JudgeEnabled};

extern const Check subnet_rate_equal = {
    .id = "subnet_rate_equal",
    .title = "Links between the same levels and models have one rate",
    .severity = v1::SEVERITY_WARNING,
    .why = "A slow link delays all traffic that is routed over it.",
    .judge = JudgeTiers};

}  // namespace fabric::subnet
