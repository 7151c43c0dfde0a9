// Counters of switch ports: which ones a switch has, and their values.
#include <algorithm>

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
    if (known_[node].lid != 0)
      Ask({.mad_class = MadClass::kPerformance,
           .attribute = Attribute::kClassPortInfo,
           .at = {node, 0}});
}

// PortXmitWait of 32 bits is not used: its unit is read only of switches with wide counters.
void SubnetReader::AskTicks() {
  for (std::uint32_t node = 0; node < known_.size(); ++node) {
    if (!known_[node].wide_counters) continue;
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
    for (const v1::SubnetPort& port : made_.nodes(static_cast<int>(node)).ports())
      if (HasCounters(port))
        Ask({.mad_class = MadClass::kPerformance,
             .attribute = known_[node].wide_counters ? Attribute::kPortCountersExtended
                                                     : Attribute::kPortCounters,
             .at = {node, port.number()}});
  }
}

void SubnetReader::OnPerformance(const Order& order, const subnet::MadAnswer& answer) {
  switch (order.attribute) {
    case Attribute::kClassPortInfo:
      known_[order.at.node].wide_counters = subnet::HasWideCounters(answer.data);
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
  v1::SubnetCounters now;
  *now.mutable_at() = ToProto(clock_.Now().wall);
  if (order.attribute == Attribute::kPortCountersExtended) {
    const auto* const wide = answer.more.begin() + (subnet::kWideCountersAt - answer.data.size());
    now.mutable_wide_counters()->assign(wide, wide + subnet::kWideCountersBytes);
  } else {
    now.mutable_port_counters()->assign(answer.data.begin(), answer.data.end());
    now.mutable_port_counters()->replace(subnet::kTrafficCountersAt, subnet::kTrafficCountersBytes,
                                         subnet::kTrafficCountersBytes, '\0');
  }
  v1::SubnetPort& port = PortAt(order.at);
  if (port.has_counters() && DroppedOf(now) > DroppedOf(port.counters())) {
    made_.set_vl15_dropped(made_.vl15_dropped() +
                           static_cast<std::uint32_t>(DroppedOf(now) - DroppedOf(port.counters())));
    window_.pace().OnDropped(clock_.Now().steady);
  }
  if (second_ && port.has_counters() && !port.has_first_counters())
    port.mutable_first_counters()->Swap(port.mutable_counters());
  *port.mutable_counters() = std::move(now);
}

}  // namespace fabric::agent
