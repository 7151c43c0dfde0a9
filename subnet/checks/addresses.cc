// Checks of GUIDs, LIDs and descriptions.
#include <algorithm>
#include <map>
#include <set>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

// Two cables that end at one port: two devices with this GUID, because a port has one cable.
void JudgeGuids(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  std::set<std::uint32_t> failed;
  for (const Contradiction& found : subnet.contradictions()) {
    const bool same_port = subnet.port(found.from).Peer() != found.to;  // Two lines of one port
    const End twice = same_port ? found.from : found.to;
    const End one = same_port ? found.to : found.from;
    if (subnet.port(twice).Peer() == one || !failed.insert(twice.node).second) continue;
    const Node& node = subnet.node(twice.node);
    out.Fail(
        {.subject = SubjectOf(subnet, twice),
         .key = GuidText(node.guid),
         .title = Format("GUID {}: two cables end at port {}, at {} and at {}", GuidText(node.guid),
                         twice.port, EndWords(subnet, one), EndWords(subnet, found.instead)),
         .what = Format("cables of {}", EndWords(subnet, twice)),
         .expected = "1",
         .seen = "2",
         .remedies = {Advice(
             "Compare the GUIDs of the devices on both cables, and correct the one that was "
             "flashed with the GUID of the other. If a cable moved while the file was made, "
             "make the file again.")},
         .affected = {SubjectOf(subnet, one), SubjectOf(subnet, found.instead)}});
  }
  std::map<std::uint64_t, End> by_port;
  for (std::uint32_t index = 0; index < subnet.nodes().size(); ++index) {
    const Node& node = subnet.node(index);
    if (node.type == NodeType::kSwitch) continue;
    for (std::uint32_t number = 1; number < node.ports.size(); ++number) {
      const std::uint64_t guid = node.ports[number].guid;
      if (guid == 0) continue;
      const End end{index, number};
      const auto [at, first] = by_port.emplace(guid, end);
      if (first || !failed.insert(index).second) continue;
      out.Fail({.subject = SubjectOf(subnet, end),
                .key = GuidText(guid),
                .title = Format("port GUID {}: {} and {} have it", GuidText(guid),
                                EndWords(subnet, at->second), EndWords(subnet, end)),
                .what = "ports with this GUID",
                .expected = "1",
                .seen = "2",
                .remedies = {Advice("Correct the GUID of one of the adapters in its firmware.")},
                .affected = {SubjectOf(subnet, at->second), SubjectOf(subnet, end)}});
    }
  }
  out.Pass(subnet.nodes().size() - failed.size());
}

struct LidRange {
  std::uint32_t first;
  std::uint32_t last;
  End owner;
};

std::vector<LidRange> LidRanges(const Subnet& subnet) {
  std::vector<LidRange> ranges;
  for (std::uint32_t index = 0; index < subnet.nodes().size(); ++index)
    for (std::uint32_t number = 0; number < subnet.node(index).ports.size(); ++number) {
      const Port& port = subnet.node(index).ports[number];
      if (IsAssigned(port.lid))
        ranges.push_back({*port.lid, *port.lid + (1U << port.lmc) - 1, {index, number}});
    }
  std::ranges::sort(ranges, {}, &LidRange::first);
  return ranges;
}

void JudgeLids(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  const std::vector<LidRange> ranges = LidRanges(subnet);
  const LidRange* widest = nullptr;  // Of those before, the one that ends last
  for (const LidRange& range : ranges) {
    if (widest == nullptr || range.first > widest->last) {
      out.Pass();
    } else {
      out.Fail({.subject = SubjectOf(subnet, range.owner),
                .key = std::to_string(range.first),
                .title = Format("LID {}: {} and {} have it", range.first,
                                EndWords(subnet, widest->owner), EndWords(subnet, range.owner)),
                .what = "ports with this LID",
                .expected = "1",
                .seen = "2",
                .remedies = {Advice(
                    "Remove the entries of both GUIDs from the guid2lid file of the subnet manager "
                    "and start it again, so that it assigns new LIDs.")},
                .affected = {SubjectOf(subnet, widest->owner), SubjectOf(subnet, range.owner)}});
    }
    if (widest == nullptr || range.last > widest->last) widest = &range;
  }
}

void JudgeAssigned(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  for (std::uint32_t index = 0; index < subnet.nodes().size(); ++index) {
    const Node& node = subnet.node(index);
    const bool is_switch = node.type == NodeType::kSwitch;
    for (std::uint32_t number = is_switch ? 0 : 1; number < node.ports.size(); ++number) {
      if (is_switch && number > 0) break;
      const Port& port = node.ports[number];
      if (!port.lid || (!is_switch && port.peer == kNoNode)) continue;
      if (IsAssigned(port.lid)) {
        out.Pass();
        continue;
      }
      const End end{index, number};
      out.Fail(
          {.subject = SubjectOf(subnet, end),
           .key = "",
           .title = Format("{} has no LID, saw {}",
                           is_switch ? NodeWords(node) : CableWords(subnet, {port.Peer(), end}),
                           *port.lid),
           .what = "LID",
           .expected = Format("1 to {}", kUnicastLidMax),
           .seen = std::to_string(*port.lid),
           .remedies = is_switch ? std::vector{Advice("Check the log of the subnet manager.")}
                                 : CableRemedies(subnet, {port.Peer(), end},
                                                 "Check the log of the subnet manager for "
                                                 "this port, and whether the link is ACTIVE.")});
    }
  }
}

void JudgeDescriptions(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  std::map<std::string_view, std::vector<std::uint32_t>> by_name;
  for (std::uint32_t index = 0; index < subnet.nodes().size(); ++index) {
    const Node& node = subnet.node(index);
    // Adapters of one host can share a description that has no device.
    const bool whole = node.type == NodeType::kSwitch || !DeviceOf(node).empty();
    if (!node.description.empty() && !HasGenericDescription(node) && whole)
      by_name[node.description].push_back(index);
  }
  for (const auto& [name, nodes] : by_name) {
    if (nodes.size() == 1) {
      out.Pass();
      continue;
    }
    std::vector<std::string> guids;
    Failure failure{.subject = SubjectOf(subnet, End{nodes.front(), 0}),
                    .key = std::string(name),
                    .title = {},
                    .what = "nodes with this description",
                    .expected = "1",
                    .seen = std::to_string(nodes.size()),
                    .remedies = {Advice("Set the host names of the nodes, and start "
                                        "rdma-ndd on them.")}};
    for (const std::uint32_t index : nodes) {
      guids.push_back(GuidText(subnet.node(index).guid));
      failure.affected.push_back(SubjectOf(subnet, End{index, 0}));
    }
    failure.title =
        Format("{} nodes have the description \"{}\": {}", nodes.size(), name, ListSome(guids, 3));
    out.Fail(std::move(failure));
  }
}

}  // namespace

extern const Check subnet_guid_unique = {
    .id = "subnet_guid_unique",
    .title = "Each GUID belongs to one device",
    .severity = v1::SEVERITY_CRITICAL,
    .why = "The subnet manager takes two devices with one GUID for one, and routes to one of them.",
    .judge = JudgeGuids};

extern const Check subnet_lid_unique = {
    .id = "subnet_lid_unique",
    .title = "Each LID belongs to one port",
    .severity = v1::SEVERITY_CRITICAL,
    .why = "Packets to a LID of two ports arrive at one of them.",
    .judge = JudgeLids};

extern const Check subnet_lid_assigned = {
    .id = "subnet_lid_assigned",
    .title = "Each connected port has a LID",
    .severity = v1::SEVERITY_ERROR,
    .why = "A port without a LID has no traffic: the subnet manager did not configure it.",
    .judge = JudgeAssigned};

extern const Check subnet_description_unique = {
    .id = "subnet_description_unique",
    .title = "Each node description belongs to one node",
    .severity = v1::SEVERITY_WARNING,
    .why = "Reports and plans cannot distinguish two nodes of one name.",
    .judge = JudgeDescriptions};

}  // namespace fabric::subnet
