// Orders of the reader after discovery, and the end of a reading.
#include <algorithm>

#include "agents/subnet/reader.h"
#include "base/lists.h"
#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::agent {
namespace {

using subnet::Attribute;
using subnet::End;

constexpr std::uint32_t kLidsInBlock = 64;
constexpr std::uint32_t kKeysInBlock = 32;

subnet::Bytes ViewOf(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::uint32_t Blocks(std::uint32_t entries, std::uint32_t of_block) {
  return (entries + of_block - 1) / of_block;
}

}  // namespace

// Block by block over all switches, so that no switch is asked twice at once.
void SubnetReader::AskTables() {
  std::vector<std::uint32_t> blocks(known_.size());
  std::uint32_t most = 0;
  for (std::uint32_t node = 0; node < known_.size(); ++node) {
    v1::SubnetNode& made = *made_.mutable_nodes(static_cast<int>(node));
    const auto info = subnet::ReadSwitchInfo(ViewOf(made.switch_info()));
    if (!info) continue;
    const std::uint32_t lids = std::min<std::uint32_t>(info->lid_top, subnet::kUnicastLidMax) + 1;
    made.mutable_routes()->assign(lids, static_cast<char>(subnet::kNoRoute));
    blocks[node] = Blocks(lids, kLidsInBlock);
    most = std::max(most, blocks[node]);
  }
  for (std::uint32_t block = 0; block < most; ++block)
    for (std::uint32_t node = 0; node < known_.size(); ++node)
      if (block < blocks[node])
        Ask({.attribute = Attribute::kForwardingTable, .modifier = block, .at = {node, 0}});
}

// Adapters, and the switch ports that they are connected to.
void SubnetReader::AskPartitions() {
  for (std::uint32_t node = 0; node < known_.size(); ++node) {
    const v1::SubnetNode& made = made_.nodes(static_cast<int>(node));
    const auto info = subnet::ReadSwitchInfo(ViewOf(made.switch_info()));
    for (const v1::SubnetPort& port : made.ports()) {
      const bool of_adapter = port.peer() != 0 && !IsSwitch(made) && port.number() != 0;
      const bool at_adapter = info && port.peer() != 0 && port.number() != 0 &&
                              !IsSwitch(made_.nodes(static_cast<int>(port.peer() - 1)));
      if (!of_adapter && !at_adapter) continue;
      const std::uint32_t keys = of_adapter ? known_[node].facts.p_keys : info->p_keys;
      const std::uint32_t high = of_adapter ? 0 : port.number() << 16;
      for (std::uint32_t block = 0; block < Blocks(keys, kKeysInBlock); ++block)
        Ask({.attribute = Attribute::kPKeyTable,
             .modifier = high | block,
             .at = {node, port.number()}});
    }
  }
}

void SubnetReader::AskManagers() {
  for (std::uint32_t node = 0; node < known_.size(); ++node)
    for (const v1::SubnetPort& port : made_.nodes(static_cast<int>(node)).ports())
      if (const auto info = subnet::ReadPortInfo(ViewOf(port.port_info()));
          info && info->runs_manager)
        Ask({.attribute = Attribute::kSubnetManagerInfo, .at = {node, port.number()}});
}

void SubnetReader::AskSwitches() {
  for (std::uint32_t node = 0; node < known_.size(); ++node)
    if (!made_.nodes(static_cast<int>(node)).switch_info().empty())
      Ask({.attribute = Attribute::kSwitchInfo, .at = {node, 0}});
}

void SubnetReader::Finish() {
  for (v1::SubnetNode& node : *made_.mutable_nodes()) {
    auto& ports = *node.mutable_ports();
    ports.erase(std::remove_if(ports.begin(), ports.end(),
                               [](const v1::SubnetPort& port) {
                                 return port.port_info().empty() && port.peer() == 0;
                               }),
                ports.end());
    // A port that is down has no cable: the cable is at another device with this GUID.
    for (v1::SubnetPort& port : ports) {
      // Without a time, only counters of FEC arrived: rates of them alone are not known.
      if (port.has_counters() && !port.counters().has_at()) port.clear_counters();
      if (port.has_first_counters() && !port.has_counters()) {
        port.mutable_counters()->Swap(port.mutable_first_counters());
        port.clear_first_counters();
      }
      const auto info = subnet::ReadPortInfo(ViewOf(port.port_info()));
      if (!info || info->state != subnet::LinkState::kDown) continue;
      port.clear_peer();
      port.clear_peer_port();
    }
  }
  EraseGone();
  for (const auto& [what, count] : lost_by_kind_)
    NotCovered(Format("{} ({})", what, Plural(count, "request")));
  made_.set_changed(ListSome(changed_, 4));
  made_.set_mads(window_.sent());
  made_.set_lost(window_.lost());
  *made_.mutable_finished_at() = ToProto(clock_.Now().wall);
}

}  // namespace fabric::agent
