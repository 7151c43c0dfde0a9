#include "daemon/fleet/infiniband_topology.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"
#include "subnet/model.h"
#include "subnet/words.h"

namespace fabric::fleet {
namespace {

// Parses "0c42:a103:0065:1f2e".
std::optional<std::uint64_t> GuidOf(std::string_view text) {
  std::string digits(text);
  std::erase(digits, ':');
  const auto guid = ParseNumber<std::uint64_t>(digits, 16);
  if (!guid.ok() || *guid == 0) return std::nullopt;
  return *guid;
}

template <class Map, class Key>
const Attachment* Lookup(const Map& map, const Key& key) {
  const auto at = map.find(key);
  return at == map.end() ? nullptr : &at->second;
}

// Two cables end at one port: two files of different times, or a cable that was moved during
// discovery.
std::set<subnet::End> AmbiguousEnds(const subnet::Subnet& all) {
  std::set<subnet::End> ends;
  for (const subnet::Contradiction& each : all.contradictions()) {
    // The end itself has two partners, or its partner has.
    const subnet::Port* const port = all.FindPort(each.from);
    ends.insert(port != nullptr && port->Peer() == each.instead ? each.from : each.to);
  }
  return ends;
}

}  // namespace

class TopologyBuilder {
 public:
  void Add(const subnet::Subnet& all) {
    const std::set<subnet::End> ambiguous = AmbiguousEnds(all);
    for (const subnet::End end : ambiguous) made_.ambiguous_.push_back(subnet::EndWords(all, end));
    index_.assign(all.nodes().size(), 0);
    for (std::uint32_t node = 0; node < all.nodes().size(); ++node) {
      if (all.node(node).type != subnet::NodeType::kSwitch) continue;
      index_[node] = static_cast<std::uint32_t>(made_.switches_.size());
      made_.switches_.push_back({.guid = all.node(node).guid,
                                 .name = subnet::NameOf(all.node(node)),
                                 .links = {},
                                 .routes = all.node(node).routes});
    }
    for (const subnet::Cable& cable : all.Cables()) {
      if (ambiguous.contains(cable.from) || ambiguous.contains(cable.to)) continue;
      // Not a cable: a port with itself, or a management port.
      if (cable.from == cable.to || cable.from.port == 0 || cable.to.port == 0) continue;
      Connect(all, cable.from, cable.to);
      Connect(all, cable.to, cable.from);
    }
  }

  InfinibandTopology Done() {
    MakeNamesUnique();
    for (InfinibandSwitch& each : made_.switches_)
      std::ranges::sort(each.links, {}, &SwitchLink::port);
    return std::move(made_);
  }

 private:
  void Connect(const subnet::Subnet& all, subnet::End from, subnet::End to) {
    if (all.node(from.node).type != subnet::NodeType::kSwitch) return;
    const subnet::Node& node = all.node(to.node);
    const std::uint32_t leaf = index_[from.node];
    if (node.type == subnet::NodeType::kSwitch) {
      made_.switches_[leaf].links.push_back(
          {.port = from.port, .other = index_[to.node], .other_port = to.port});
      return;
    }
    if (node.type != subnet::NodeType::kAdapter) return;
    const subnet::Port& port = all.port(to);
    const Attachment attachment{.leaf = leaf,
                                .port = from.port,
                                .lid = subnet::IsAssigned(port.lid) ? std::uint32_t{*port.lid} : 0};
    made_.by_node_.emplace(std::pair(node.guid, to.port), attachment);
    if (port.guid != 0) made_.by_port_guid_.emplace(port.guid, attachment);
  }

  void MakeNamesUnique() {
    // Repeat: a name with a GUID may equal another switch's name.
    for (bool unique = false; !unique;) {
      std::map<std::string, int> count_by_name;
      for (const InfinibandSwitch& each : made_.switches_) ++count_by_name[each.name];
      unique = count_by_name.size() == made_.switches_.size();
      for (InfinibandSwitch& each : made_.switches_)
        if (count_by_name.at(each.name) > 1) each.name += Format(" {:016x}", each.guid);
    }
  }

  InfinibandTopology made_;
  std::vector<std::uint32_t> index_;  // Of a switch, by node of the subnet
};

InfinibandTopology InfinibandTopology::Of(std::span<const subnet::Subnet* const> subnets) {
  TopologyBuilder builder;
  for (const subnet::Subnet* const each : subnets) builder.Add(*each);
  return builder.Done();
}

const Attachment* InfinibandTopology::Find(const v1::RdmaDevice& device,
                                           const v1::Port& port) const {
  if (empty()) return nullptr;
  if (const auto guid = GuidOf(port.port_guid()))
    if (const Attachment* const attachment = Lookup(by_port_guid_, *guid)) return attachment;
  if (const auto guid = GuidOf(device.node_guid()))
    return Lookup(by_node_, std::pair(*guid, port.number()));
  return nullptr;
}

}  // namespace fabric::fleet
