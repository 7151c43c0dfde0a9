#include "subnet/words.h"

#include "base/text.h"

namespace fabric::subnet {

std::string ShortName(std::string_view description) {
  if (!description.starts_with("MF0;")) return std::string(description);
  const std::string_view rest = description.substr(4);
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::string(rest);
  const std::string_view model = rest.substr(colon);
  const std::size_t slash = model.find('/');
  const std::string_view unit =
      slash == std::string_view::npos ? std::string_view() : model.substr(slash);
  return Format("{}{}", rest.substr(0, colon), unit == "/U1" ? std::string_view() : unit);
}

std::string BaseName(const Node& node) {
  if (std::string name = ShortName(node.description); !name.empty()) return name;
  const char letter = node.type == NodeType::kSwitch    ? 'S'
                      : node.type == NodeType::kAdapter ? 'H'
                      : node.type == NodeType::kRouter  ? 'R'
                                                        : 'N';
  return Format("{}-{:016x}", letter, node.guid);
}

std::string NameOf(const Node& node) {
  std::string name = BaseName(node);
  if (node.shares_name) name += Format(" {:016x}", node.guid);
  return name;
}

bool HasGenericDescription(const Node& node) {
  for (const std::string_view word : {"Mellanox Technologies", "NVIDIA", "ConnectX", "Aggregation"})
    if (node.description.find(word) != std::string::npos) return true;
  return false;
}

std::string_view HostOf(const Node& node) {
  const std::string_view text = node.description;
  return text.substr(0, text.find(' '));
}

std::string_view DeviceOf(const Node& node) {
  const std::string_view text = node.description;
  const std::size_t blank = text.find(' ');
  return blank == std::string_view::npos ? std::string_view() : Trim(text.substr(blank));
}

std::string NodeWords(const Node& node) {
  if (node.type == NodeType::kSwitch) return Format("switch \"{}\"", NameOf(node));
  if (node.type == NodeType::kRouter) return Format("router \"{}\"", NameOf(node));
  if (node.description.empty() || IsAggregationNode(node) || HasGenericDescription(node))
    return Format("adapter {} {}", GuidText(node.guid), node.description);
  const std::string_view device = DeviceOf(node);
  std::string words = Format("node \"{}\"{}{}", HostOf(node), device.empty() ? "" : " ", device);
  if (node.shares_name) words += " " + GuidText(node.guid);
  return words;
}

std::string EndWords(const Subnet& subnet, End end) {
  return Format("{} port {}", NodeWords(subnet.node(end.node)), end.port);
}

std::string CableWords(const Subnet& subnet, const Cable& cable) {
  return Format("{} - {}", EndWords(subnet, cable.from), EndWords(subnet, cable.to));
}

std::string PortGuidWords(const Subnet& subnet, std::uint64_t guid) {
  for (std::uint32_t node = 0; node < subnet.nodes().size(); ++node)
    for (std::uint32_t port = 0; port < subnet.node(node).ports.size(); ++port)
      if (subnet.node(node).ports[port].guid == guid) return EndWords(subnet, {node, port});
  return GuidText(guid);
}

std::string GuidText(std::uint64_t guid) {
  return Format("0x{:016x}", guid);
}

}  // namespace fabric::subnet
