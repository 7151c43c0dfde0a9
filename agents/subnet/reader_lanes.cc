// Tables of virtual lanes: which lane a service level uses, and how lanes share a link. They are
// read only for links with more than one lane: 3 requests for each port.
#include <algorithm>
#include <set>

#include "agents/subnet/reader.h"

namespace fabric::agent {
namespace {

using subnet::Attribute;
using subnet::End;
using subnet::MadData;

// A switch has one SL-to-VL table for each pair of ports. All pairs of a large subnet are a million
// requests: each output port is read for one input port, and those of one switch of each model
// for so many.
constexpr std::size_t kInputsCompared = 16;

std::uint32_t Blocks(std::uint32_t entries) {
  return entries == 0 ? 0 : entries <= subnet::kArbitrationEntries ? 1 : 2;
}

// Other ports with a cable.
std::vector<std::uint32_t> InputsOf(const v1::SubnetNode& node, std::uint32_t output) {
  std::vector<std::uint32_t> inputs;
  for (const v1::SubnetPort& port : node.ports())
    if (port.number() != 0 && port.number() != output && port.peer() != 0)
      inputs.push_back(port.number());
  return inputs;
}

}  // namespace

void SubnetReader::AskLanesOf(End at, bool all_inputs) {
  const v1::SubnetNode& node = made_.nodes(static_cast<int>(at.node));
  const auto info = subnet::ReadPortInfo(subnet::BytesOf(PortAt(at).port_info()));
  if (!info || !info->LinkUp() || info->lanes <= 1) return;
  for (std::uint32_t block = 0; block < Blocks(info->arbitration_low); ++block)
    Ask({.attribute = Attribute::kVlArbitration,
         .modifier = (1 + block) << 16 | at.port,
         .at = at});
  for (std::uint32_t block = 0; block < Blocks(info->arbitration_high); ++block)
    Ask({.attribute = Attribute::kVlArbitration,
         .modifier = (3 + block) << 16 | at.port,
         .at = at});
  if (!IsSwitch(node)) return Ask({.attribute = Attribute::kSlToVl, .modifier = 0, .at = at});
  std::vector<std::uint32_t> inputs = InputsOf(node, at.port);
  if (inputs.empty()) return;
  inputs.resize(std::min(inputs.size(), all_inputs ? kInputsCompared : 1));
  for (const std::uint32_t input : inputs)
    Ask({.attribute = Attribute::kSlToVl, .modifier = input << 8 | at.port, .at = at});
}

void SubnetReader::AskLanes() {
  std::set<std::uint32_t> models;
  for (std::uint32_t node = 0; node < known_.size(); ++node) {
    const v1::SubnetNode& made = made_.nodes(static_cast<int>(node));
    const bool first = IsSwitch(made) && models.insert(made.device_id()).second;
    for (const v1::SubnetPort& port : made.ports())
      if (port.number() != 0 && port.peer() != 0) AskLanesOf({node, port.number()}, first);
  }
}

void SubnetReader::OnSlToVl(const Order& order, const MadData& data) {
  const std::string_view table(reinterpret_cast<const char*>(data.data()), subnet::kSlToVlBytes);
  v1::SubnetPort& port = PortAt(order.at);
  if (port.sl_to_vl().empty()) return port.set_sl_to_vl(std::string(table));
  if (port.sl_to_vl() != table)
    made_.mutable_nodes(static_cast<int>(order.at.node))->set_sl_to_vl_by_input(true);
}

void SubnetReader::OnArbitration(const Order& order, const MadData& data) {
  v1::SubnetPort& port = PortAt(order.at);
  const auto info = subnet::ReadPortInfo(subnet::BytesOf(port.port_info()));
  if (!info) return;
  const std::uint32_t block = (order.modifier >> 16) - 1;  // 0, 1: low priority; 2, 3: high
  const std::size_t low = std::size_t{info->arbitration_low} * 2;
  const std::size_t high = std::size_t{info->arbitration_high} * 2;
  const std::size_t begin = (block < 2 ? 0 : low) + block % 2 * data.size();
  const std::size_t end = block < 2 ? low : low + high;
  std::string& table = *port.mutable_vl_arbitration();
  table.resize(low + high, '\0');
  for (std::size_t i = 0; i < data.size() && begin + i < end; ++i)
    table[begin + i] = static_cast<char>(data[i]);
}

}  // namespace fabric::agent
