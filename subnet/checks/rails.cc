// Check of rails: adapter i of each host on the leaves of rail i.
#include <map>
#include <set>
#include <string>

#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

struct LeafRail {
  std::string device;  // Of most adapters on the leaf; empty: no majority
  std::size_t of_it = 0;
  std::size_t all = 0;
};

struct HostCable {
  std::uint32_t leaf = 0;  // Index of the switch
  Cable cable;             // From the leaf
  std::string host;
  std::string device;
};

// Cables of adapters whose description has host and device.
std::vector<HostCable> HostCables(const CheckInput& input) {
  const Subnet& subnet = input.subnet();
  std::vector<HostCable> cables;
  for (std::uint32_t leaf = 0; leaf < input.graph.size(); ++leaf) {
    const std::uint32_t node = input.graph.NodeOf(leaf);
    for (std::uint32_t number = 1; number < subnet.node(node).ports.size(); ++number) {
      const End far = subnet.node(node).ports[number].Peer();
      if (!far.present()) continue;
      const Node& adapter = subnet.node(far.node);
      if (adapter.type != NodeType::kAdapter || IsAggregationNode(adapter) ||
          HasGenericDescription(adapter) || DeviceOf(adapter).empty())
        continue;
      // Ports of one adapter are different rails.
      cables.push_back({leaf, Cable{{node, number}, far}, std::string(HostOf(adapter)),
                        Format("{} port {}", DeviceOf(adapter), far.port)});
    }
  }
  return cables;
}

std::map<std::uint32_t, LeafRail> RailsOf(const std::vector<HostCable>& cables) {
  constexpr std::size_t kHostsMin = 4;
  constexpr std::size_t kMajorityPercent = 75;
  std::map<std::uint32_t, std::map<std::string, std::size_t>> counts;
  for (const HostCable& each : cables) ++counts[each.leaf][each.device];
  std::map<std::uint32_t, LeafRail> rails;
  for (const auto& [leaf, devices] : counts) {
    LeafRail rail;
    for (const auto& [device, count] : devices) {
      rail.all += count;
      if (count > rail.of_it) {
        rail.of_it = count;
        rail.device = device;
      }
    }
    if (rail.all < kHostsMin || rail.of_it * 100 < rail.all * kMajorityPercent) rail.device.clear();
    rails[leaf] = rail;
  }
  return rails;
}

void JudgeRails(const CheckInput& input, Verdicts& out) {
  const std::vector<HostCable> cables = HostCables(input);
  const auto rails = RailsOf(cables);
  std::set<std::string> known;  // Devices that have leaves of their own
  for (const auto& [leaf, rail] : rails)
    if (!rail.device.empty()) known.insert(rail.device);
  // One device everywhere: hosts with one adapter.
  if (known.size() < 2) return;
  std::map<std::string, std::set<std::string>> devices_of_host;
  for (const HostCable& each : cables) devices_of_host[each.host].insert(each.device);
  for (const HostCable& each : cables) {
    const LeafRail& rail = rails.at(each.leaf);
    if (rail.device.empty() || !known.contains(each.device)) continue;
    // A host of another kind has no adapter of this rail.
    if (!devices_of_host[each.host].contains(rail.device)) continue;
    if (each.device == rail.device) {
      out.Pass();
      continue;
    }
    out.Fail({.subject = SubjectOf(input.subnet(), each.cable),
              .key = "",
              .title = Format("{}: the leaf serves {}", CableWords(input.subnet(), each.cable),
                              rail.device),
              .what = "adapter on this leaf",
              .expected = rail.device,
              .seen = each.device,
              .basis = Format("{} of {} adapters on the leaf", rail.of_it, rail.all),
              .remedies = {Advice(Format("Connect {} of node \"{}\" to a leaf of its rail: two "
                                         "cables of the node are probably swapped.",
                                         each.device, each.host))}});
  }
}

}  // namespace

extern const Check subnet_rails_straight = {
    .id = "subnet_rails_straight",
    .title = "Each adapter of a host is on a leaf of its rail",
    .severity = v1::SEVERITY_ERROR,
    .why = "Traffic within a rail crosses the spine if a cable is on the leaf of another rail.",
    .judge = JudgeRails};

}  // namespace fabric::subnet
