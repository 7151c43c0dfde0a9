#include "daemon/rules/siblings.h"

#include <map>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

void JudgeCards(const Sibling& sibling, const std::vector<fleet::PortView>& ports, Verdicts& out) {
  const Camps camps(ports, sibling.value);
  const Camp* const most = camps.expected();
  if (most == nullptr || camps.ports() < 4 || 4 * most->ports.size() < 3 * camps.ports()) return;
  const std::string basis = Format("{} of {} ports of {}", most->ports.size(), camps.ports(),
                                   ports[0].device->board_id());
  for (const Camp& camp : camps.all()) {
    for (const fleet::PortView* port : camp.ports) {
      if (&camp == most) {
        out.Pass();
        continue;
      }
      const std::string seen = sibling.show({.number = camp.value});
      const std::string expected = sibling.show({.number = most->value});
      out.Fail(port->Subject(),
               Format("{} {}, expected {} ({})", sibling.what, seen, expected, basis),
               {ToEvidence(*port->node, {.what = std::string(sibling.what),
                                         .expected = expected,
                                         .seen = seen,
                                         .source = sibling.source(*port),
                                         .basis = basis})},
               sibling.remedies(*port, most->value));
    }
  }
}

}  // namespace

void JudgeSiblings(const Sibling& sibling, const fleet::FleetView& fleet, Verdicts& out) {
  if (fleet.nodes().size() != 1) return;
  std::map<std::string_view, std::vector<fleet::PortView>> cards;
  for (const fleet::PortView& port : fleet.nodes()[0].ports)
    if (port.rail && port.device->has_board_id()) cards[port.device->board_id()].push_back(port);
  for (const auto& [board, ports] : cards) JudgeCards(sibling, ports, out);
}

}  // namespace fabric::rules
