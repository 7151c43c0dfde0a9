#include "daemon/rules/siblings.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using Ports = std::vector<const fleet::PortView*>;

constexpr std::size_t kComparedMin = 4;

void JudgeCards(const Sibling& sibling, const Ports& cards, Verdicts& out) {
  std::map<std::uint64_t, Ports> by_value;
  std::size_t all = 0;
  for (const fleet::PortView* port : cards) {
    const std::optional<std::uint64_t> value = sibling.value(*port);
    if (!value) continue;
    by_value[*value].push_back(port);
    ++all;
  }
  const auto most = std::max_element(
      by_value.begin(), by_value.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (all < kComparedMin || 4 * most->second.size() < 3 * all) return;
  const std::string basis =
      Format("{} of {} ports of {}", most->second.size(), all, cards[0]->board);
  for (const auto& [value, ports] : by_value) {
    for (const fleet::PortView* port : ports) {
      if (value == most->first) {
        out.Pass();
        continue;
      }
      const std::string seen = sibling.show({.number = value});
      const std::string expected = sibling.show({.number = most->first});
      out.Fail(port->Subject(),
               Format("{} {}, expected {} ({})", sibling.what, seen, expected, basis),
               {ToEvidence(*port->node, {.what = std::string(sibling.what),
                                         .expected = expected,
                                         .seen = seen,
                                         .source = sibling.source(*port),
                                         .basis = basis})},
               sibling.remedies(*port, most->first), sibling.key);
    }
  }
}

}  // namespace

void JudgeSiblings(const Sibling& sibling, const fleet::NodeView& node, Verdicts& out) {
  std::map<std::string_view, std::vector<const fleet::PortView*>> cards;
  const bool by_gpus = std::any_of(node.ports.begin(), node.ports.end(), IsNearGpu);
  Ports unknown;
  std::size_t compared = 0;
  for (const fleet::PortView& port : node.ports) {
    if (!port.rail || (by_gpus && !IsNearGpu(port))) continue;
    if (!port.board.empty()) {
      cards[port.board].push_back(&port);
      ++compared;
    } else if (sibling.value(port)) {
      unknown.push_back(&port);
    }
  }
  if (compared + 1 >= kComparedMin)
    for (const fleet::PortView* port : unknown)
      Unreadable(*port, Format("model of the card, by which the {} is compared,", sibling.what),
                 Format("sys/class/infiniband/{}/board_id", port->device->name()), out);
  for (const auto& [board, ports] : cards) JudgeCards(sibling, ports, out);
}

}  // namespace fabric::rules
