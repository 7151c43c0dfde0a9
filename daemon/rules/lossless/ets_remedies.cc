// Remedies for ETS: complete commands, because shares must add up to 100 at every step.
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"

namespace fabric::rules {

using fleet::PortView;

namespace {

constexpr std::uint32_t kTrafficClasses = 8;
constexpr std::uint32_t kAllBandwidth = 100;

struct EtsPlan {
  std::vector<std::uint32_t> algorithms;  // By class
  std::vector<std::uint32_t> shares;
};

std::optional<EtsPlan> PlanOf(const PortView& port) {
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (dcb == nullptr || dcb->ets().tc_algorithm_size() == 0 ||
      dcb->ets().tc_algorithm_size() != dcb->ets().tc_tx_bandwidth_percent_size())
    return {};
  const v1::Ets& ets = dcb->ets();
  return EtsPlan{
      .algorithms = {ets.tc_algorithm().begin(), ets.tc_algorithm().end()},
      .shares = {ets.tc_tx_bandwidth_percent().begin(), ets.tc_tx_bandwidth_percent().end()}};
}

// Makes the shares of all ETS classes but `fixed` add up to `rest`, in the same proportions.
void Scale(EtsPlan& plan, std::uint32_t fixed, std::uint32_t rest) {
  std::uint64_t sum = 0;
  std::vector<std::size_t> scaled;
  for (std::size_t i = 0; i < plan.shares.size(); ++i) {
    if (plan.algorithms[i] != kTsaEts || i == fixed || plan.shares[i] == 0) continue;
    sum += plan.shares[i];
    scaled.push_back(i);
  }
  if (scaled.empty()) {
    if (fixed < plan.shares.size() && plan.algorithms[fixed] == kTsaEts) plan.shares[fixed] += rest;
    return;
  }
  std::uint32_t left = rest;
  for (const std::size_t i : scaled) {
    plan.shares[i] = i == scaled.back()
                         ? left
                         : static_cast<std::uint32_t>(std::uint64_t{plan.shares[i]} * rest / sum);
    left -= plan.shares[i];
  }
}

// "tc-tsa 0:ets 3:ets 6:strict tc-bw 0:50 3:50": the classes in ETS, and `strict`.
std::string EtsWords(const EtsPlan& plan, std::optional<std::uint32_t> strict) {
  std::string algorithms;
  std::string shares;
  for (std::size_t i = 0; i < plan.shares.size(); ++i) {
    if (plan.algorithms[i] == kTsaEts) {
      algorithms += Format(" {}:ets", i);
      if (plan.shares[i] != 0) shares += Format(" {}:{}", i, plan.shares[i]);
    } else if (strict == i) {
      algorithms += Format(" {}:strict", i);
    }
  }
  return Format("tc-tsa{}{}{}", algorithms, shares.empty() ? "" : " tc-bw", shares);
}

v1::Remedy SetEts(const PortView& port, std::string_view words, const EtsPlan& now,
                  std::string_view also, std::string_view note) {
  return Change(
      {.command = Format("dcb ets set dev {} {}", WireName(port), words),
       .affects = v1::REMEDY_REACH_PORT,
       .interrupts = kInterruptsQueues,
       .lasts = UntilReboot(kInBootUnit),
       .undo = Format("dcb ets set dev {} {}{}", WireName(port), also, EtsWords(now, std::nullopt)),
       .note = std::string(note)});
}

// The priorities in a class, other than this one.
PriorityMask OthersInClass(const v1::Ets& ets, std::uint32_t priority,
                           std::uint32_t traffic_class) {
  PriorityMask others;
  for (int i = 0; i < ets.priority_to_tc_size(); ++i)
    if (static_cast<std::uint32_t>(i) != priority && ets.priority_to_tc(i) == traffic_class)
      others.Add(static_cast<std::uint32_t>(i));
  return others;
}

// A class without priorities, the one with the number of the priority if possible.
std::optional<std::uint32_t> FreeClass(const v1::Ets& ets, std::uint32_t priority) {
  const auto is_free = [&](std::uint32_t traffic_class) {
    return static_cast<int>(traffic_class) < ets.tc_algorithm_size() &&
           OthersInClass(ets, ~0U, traffic_class).empty();
  };
  if (is_free(priority)) return priority;
  for (std::uint32_t traffic_class = kTrafficClasses; traffic_class-- > 0;)
    if (is_free(traffic_class)) return traffic_class;
  return {};
}

}  // namespace

std::vector<v1::Remedy> SetEtsShare(const PortView& port, std::uint32_t traffic_class,
                                    std::uint32_t percent) {
  const auto now = PlanOf(port);
  if (!now || traffic_class >= now->shares.size() || percent > kAllBandwidth)
    return {Advice(Format("Give class {} {} % of the bandwidth; all shares must add up to 100.",
                          traffic_class, percent))};
  EtsPlan plan = *now;
  plan.algorithms[traffic_class] = kTsaEts;
  plan.shares[traffic_class] = percent;
  Scale(plan, traffic_class, kAllBandwidth - percent);
  return {SetEts(port, EtsWords(plan, std::nullopt), *now, {},
                 "The other classes share the rest in their present proportions.")};
}

std::vector<v1::Remedy> ScaleEtsShares(const PortView& port) {
  const auto now = PlanOf(port);
  if (!now) return {Advice("Set shares that add up to 100.")};
  EtsPlan plan = *now;
  Scale(plan, ~0U, kAllBandwidth);
  return {SetEts(port, EtsWords(plan, std::nullopt), *now, {},
                 "The present proportions, scaled to 100. Use the shares that were meant, if you "
                 "know them.")};
}

std::vector<v1::Remedy> SetEtsStrict(const PortView& port, std::uint32_t priority) {
  const auto now = PlanOf(port);
  const auto present = now ? ClassOf(DcbOf(port)->ets(), priority) : std::nullopt;
  if (!present || *present >= now->shares.size())
    return {Advice(
        Format("Give priority {} a traffic class of its own with strict priority.", priority))};
  const v1::Ets& ets = DcbOf(port)->ets();
  const PriorityMask others = OthersInClass(ets, priority, *present);
  const auto own = others.empty() ? present : FreeClass(ets, priority);
  if (!own || *own >= now->shares.size())
    return {
        Advice(Format("Priority {} shares class {} with priorities {}, and all classes are in "
                      "use. Free a class for it first: a shared class must not be strict, "
                      "because its other traffic would go before RoCE.",
                      priority, *present, ToText(others)))};
  EtsPlan plan = *now;
  plan.algorithms[*own] = kTsaStrict;
  plan.shares[*own] = 0;
  Scale(plan, ~0U, kAllBandwidth);
  std::string words = EtsWords(plan, *own);
  if (others.empty())
    return {SetEts(port, words, *now, {}, "The other classes share all of the bandwidth.")};
  return {SetEts(port, Format("prio-tc {}:{} {}", priority, *own, words), *now,
                 Format("prio-tc {}:{} ", priority, *present),
                 Format("Moves priority {} to class {} of its own: class {} also carries "
                        "priorities {}, which must not be strict.",
                        priority, *own, *present, ToText(others)))};
}

std::vector<v1::Remedy> MoveToOwnClass(const PortView& port, std::uint32_t priority) {
  constexpr std::uint32_t kHalf = 50;
  const auto now = PlanOf(port);
  const v1::Ets& ets = DcbOf(port)->ets();
  const auto present = ClassOf(ets, priority);
  const auto own = FreeClass(ets, priority);
  if (!now || !present || !own || *own >= now->shares.size())
    return {Advice(Format("Give priority {} a traffic class of its own.", priority))};
  EtsPlan plan = *now;
  plan.algorithms[*own] = kTsaEts;
  plan.shares[*own] = kHalf;
  Scale(plan, *own, kAllBandwidth - kHalf);
  return {SetEts(port, Format("prio-tc {}:{} {}", priority, *own, EtsWords(plan, std::nullopt)),
                 *now, Format("prio-tc {}:{} ", priority, *present),
                 "The other classes share the other half. Set the same on all ports of the rail.")};
}

}  // namespace fabric::rules
