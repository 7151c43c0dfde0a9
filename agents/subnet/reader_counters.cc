// Counters of switch ports: which ones a switch has, and their values. Firmware of switches.
#include <algorithm>
#include <map>
#include <vector>

#include "agents/subnet/reader.h"
#include "proto/timestamps.h"

namespace fabric::agent {
namespace {

using subnet::Attribute;
using subnet::MadClass;

bool HasCounters(const v1::SubnetPort& port) {
  return port.number() != 0 && port.peer() != 0;
}

std::uint64_t DroppedOf(const v1::SubnetCounters& counters) {
  const auto values = subnet::ReadCounters(subnet::BytesOf(counters.port_counters()),
                                           subnet::BytesOf(counters.wide_counters()));
  return values ? (*values)[static_cast<std::size_t>(subnet::Counter::kVl15Dropped)] : 0;
}

}  // namespace

void SubnetReader::AskCapabilities() {
  for (std::uint32_t node = 0; node < known_.size(); ++node)
    if (known_[node].lid != 0 && (options_.tables || !WasKnown(node)))
      Ask({.mad_class = MadClass::kPerformance,
           .attribute = Attribute::kClassPortInfo,
           .at = {node, 0}});
}

// PortXmitWait of 32 bits is not used: its unit is read only of switches with wide counters.
void SubnetReader::AskTicks() {
  for (std::uint32_t node = 0; node < known_.size(); ++node) {
    if (!known_[node].facts.wide_counters) continue;
    const auto& ports = made_.nodes(static_cast<int>(node)).ports();
    if (const auto first = std::ranges::find_if(ports, HasCounters); first != ports.end())
      Ask({.mad_class = MadClass::kPerformance,
           .attribute = Attribute::kPortSamplesControl,
           .at = {node, first->number()}});
  }
}

void SubnetReader::AskCounters() {
  for (std::uint32_t node = 0; node < known_.size(); ++node) {
    if (known_[node].lid == 0) continue;
    for (const v1::SubnetPort& port : made_.nodes(static_cast<int>(node)).ports()) {
      if (!HasCounters(port)) continue;
      const subnet::End at{node, port.number()};
      Ask({.mad_class = MadClass::kPerformance,
           .attribute = known_[node].facts.wide_counters ? Attribute::kPortCountersExtended
                                                         : Attribute::kPortCounters,
           .at = at});
      if (known_[node].facts.fec_counters)
        Ask({.mad_class = MadClass::kPerformance,
             .attribute = Attribute::kPortExtendedSpeedsCounters,
             .at = at});
    }
  }
}

void SubnetReader::KeepFirstCounters() {
  for (v1::SubnetNode& node : *made_.mutable_nodes())
    for (v1::SubnetPort& port : *node.mutable_ports()) {
      if (!port.has_counters()) continue;
      *port.mutable_first_counters() = std::move(*port.mutable_counters());
      port.clear_counters();
    }
}

// One switch of each model first: the others of a model are asked only if it answers. A switch that
// does not know the attribute may be silent.
Status SubnetReader::ReadFirmware(const std::stop_token& stop) {
  constexpr std::uint32_t kNvidiaVendor = 0x0002c9;
  std::map<std::uint32_t, std::vector<std::uint32_t>> models;
  for (std::uint32_t node = 0; node < known_.size(); ++node) {
    const v1::SubnetNode& made = made_.nodes(static_cast<int>(node));
    if (known_[node].lid != 0 && made.vendor_id() == kNvidiaVendor)
      models[made.device_id()].push_back(node);
  }
  const auto ask = [this](std::uint32_t node) {
    Ask({.mad_class = MadClass::kNvidia, .attribute = Attribute::kGeneralInfo, .at = {node, 0}});
  };
  for (const auto& [model, nodes] : models) ask(nodes.front());
  RETURN_IF_ERROR(Run(stop));
  for (const auto& [model, nodes] : models)
    if (!made_.nodes(static_cast<int>(nodes.front())).firmware().empty())
      std::for_each(nodes.begin() + 1, nodes.end(), ask);
  return Run(stop);
}

void SubnetReader::OnFirmware(const Order& order, const subnet::MadData& data) {
  const auto firmware = subnet::ReadFirmware(data);
  if (!firmware) return;
  v1::SubnetNode& node = *made_.mutable_nodes(static_cast<int>(order.at.node));
  node.set_firmware(firmware->version);
  node.set_firmware_board(firmware->board);
}

void SubnetReader::OnPerformance(const Order& order, const subnet::MadAnswer& answer) {
  switch (order.attribute) {
    case Attribute::kClassPortInfo:
      known_[order.at.node].facts.wide_counters = subnet::HasWideCounters(answer.data);
      known_[order.at.node].facts.fec_counters = subnet::HasFecCounters(answer.data);
      return;
    case Attribute::kPortSamplesControl:
      if (const auto tick = subnet::ReadTick(answer.data))
        made_.mutable_nodes(static_cast<int>(order.at.node))->set_tick(*tick);
      return;
    default: return OnCounters(order, answer);
  }
}

void SubnetReader::OnCounters(const Order& order, const subnet::MadAnswer& answer) {
  if (answer.data[1] != order.at.port) {
    ++lost_by_kind_["counters: answers for another port"];
    return;
  }
  v1::SubnetPort& port = PortAt(order.at);
  v1::SubnetCounters& now = *port.mutable_counters();
  if (order.attribute == Attribute::kPortExtendedSpeedsCounters) {
    const auto fec = subnet::ReadFecCounters(answer.more);
    now.set_corrected_symbols(fec->corrected_symbols);
    now.set_uncorrectable_blocks(fec->uncorrectable_blocks);
    return;
  }
  *now.mutable_at() = ToProto(clock_.Now().wall);
  if (order.attribute == Attribute::kPortCountersExtended) {
    const auto* const wide = answer.more.begin() + (subnet::kWideCountersAt - answer.data.size());
    now.mutable_wide_counters()->assign(wide, wide + subnet::kWideCountersBytes);
  } else {
    now.mutable_port_counters()->assign(answer.data.begin(), answer.data.end());
    now.mutable_port_counters()->replace(subnet::kTrafficCountersAt, subnet::kTrafficCountersBytes,
                                         subnet::kTrafficCountersBytes, '\0');
  }
  if (port.has_first_counters() && DroppedOf(now) > DroppedOf(port.first_counters())) {
    made_.set_vl15_dropped(
        made_.vl15_dropped() +
        static_cast<std::uint32_t>(DroppedOf(now) - DroppedOf(port.first_counters())));
    window_.pace().OnDropped(clock_.Now().steady);
  }
}

}  // namespace fabric::agent
