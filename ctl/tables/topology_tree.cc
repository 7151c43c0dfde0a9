#include "ctl/tables/topology_tree.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/lists.h"
#include "base/text.h"
#include "proto/names.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kTreeNodesShown = 4;

struct Natural {
  bool operator()(const std::string& one, const std::string& other) const {
    return NaturalLess(one, other);
  }
};

// "mtu_equal_on_rail (error)", by the name of the subject: "n1/mlx5_0/1", "switch leaf-1", "n1".
using Marks = std::map<std::string, std::set<std::string>>;

Marks MarksOf(const v1::ListFindingsResponse& findings) {
  Marks marks;
  for (const v1::Finding& finding : findings.findings())
    if (finding.verdict() == v1::VERDICT_FAIL && finding.state() == v1::FINDING_STATE_OPEN &&
        !finding.has_silenced() && finding.explained_by().empty())
      marks[SubjectName(finding.subject())].insert(
          Format("{} ({})", finding.rule(), Name(finding.severity())));
  return marks;
}

std::string MarkText(const Marks& marks, const std::string& subject) {
  const auto at = marks.find(subject);
  if (at == marks.end()) return {};
  return "  ! " + Join(std::vector<std::string>(at->second.begin(), at->second.end()), ", ");
}

using Ports = std::vector<const v1::DeviceSummary*>;

std::string CountText(const Ports& ports) {
  const auto active = std::ranges::count_if(
      ports, [](const auto* port) { return port->state() == v1::PORT_STATE_ACTIVE; });
  return Format("{}, {} active", Plural(ports.size(), "port"), active);
}

std::string NodesText(const Ports& ports) {
  std::set<std::string, Natural> nodes;
  for (const v1::DeviceSummary* port : ports) nodes.insert(port->node());
  return ListSome(std::vector<std::string>(nodes.begin(), nodes.end()), kTreeNodesShown);
}

std::string PortLines(const Ports& ports, const Marks& marks, bool all) {
  std::map<std::string, std::string, Natural> lines;
  for (const v1::DeviceSummary* port : ports) {
    const std::string name = Format("{}/{}/{}", port->node(), port->device(), port->port());
    const std::string mark = MarkText(marks, name) + MarkText(marks, port->node());
    if (!all && mark.empty() && port->state() == v1::PORT_STATE_ACTIVE) continue;
    lines[name] = Format("    {}  {}{}{}\n", name, Name(port->state()),
                         port->leaf_port().empty() ? "" : "  " + port->leaf_port(), mark);
  }
  std::string text;
  for (const auto& [name, line] : lines) text += line;
  return text;
}

}  // namespace

std::string TopologyTree(const v1::ListDevicesResponse& devices,
                         const v1::ListFindingsResponse& findings, bool all) {
  const Marks marks = MarksOf(findings);
  // By rail, with ports outside the rails last; then by leaf switch, unknown ones first.
  std::map<std::uint64_t, std::map<std::string, Ports, Natural>> rails;
  constexpr std::uint64_t kNoRail = std::uint64_t{1} << 32;
  for (const v1::DeviceSummary& port : devices.devices())
    rails[port.has_rail() ? port.rail() : kNoRail][port.leaf()].push_back(&port);
  std::string text;
  for (const auto& [rail, leaves] : rails) {
    Ports of_rail;
    for (const auto& [leaf, ports] : leaves)
      of_rail.insert(of_rail.end(), ports.begin(), ports.end());
    const std::string name = rail == kNoRail ? "no rail" : Format("rail {}", rail);
    text += Format("{}: {}{}\n", name, CountText(of_rail), MarkText(marks, name));
    for (const auto& [leaf, ports] : leaves)
      text += Format("  {}: {}: {}{}\n", leaf.empty() ? "unknown leaf" : leaf, CountText(ports),
                     NodesText(ports), leaf.empty() ? "" : MarkText(marks, "switch " + leaf)) +
              PortLines(ports, marks, all);
  }
  return text;
}

}  // namespace fabric::ctl
