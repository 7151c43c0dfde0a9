#include "ctl/tables/counter_rates.h"

#include <span>

#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr std::string_view kErrorNames[] = {
    "symbol_errors", "link_error_recoveries", "link_down_events", "rx_errors",
    "tx_errors",     "rx_discards",           "tx_discards",      "icrc_errors",
    "ack_timeout",   "retransmitted_packets", "out_of_buffer"};
constexpr std::string_view kCongestionNames[] = {"cnp_rx_packets", "ecn_marked_rx_packets"};

bool Matches(const v1::Counter& counter, std::string_view neutral) {
  if (!counter.has_neutral()) return false;
  if (!neutral.ends_with('*')) return counter.neutral() == neutral;
  return counter.neutral().starts_with(neutral.substr(0, neutral.size() - 1));
}

// The first of the names that the port has.
std::optional<std::uint64_t> FirstOf(const PortCounters& port,
                                     std::span<const std::string_view> names) {
  for (const std::string_view name : names)
    if (const auto sum = CounterSum(port, name)) return sum;
  return {};
}

// The sum of those that the port has.
std::optional<std::uint64_t> SumOf(const PortCounters& port,
                                   std::span<const std::string_view> names) {
  std::optional<std::uint64_t> all;
  for (const std::string_view name : names)
    if (const auto sum = CounterSum(port, name)) all = all.value_or(0) + *sum;
  return all;
}

std::optional<double> Rate(std::optional<std::uint64_t> before, std::optional<std::uint64_t> after,
                           double seconds, double factor = 1) {
  if (!before || !after || *after < *before) return {};
  return static_cast<double>(*after - *before) * factor / seconds;
}

}  // namespace

std::vector<PortCounters> PortsWithCounters(const v1::NodeSnapshot& snapshot) {
  std::vector<PortCounters> ports;
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    for (const v1::Port& port : device.ports()) {
      PortCounters& one = ports.emplace_back();
      one.device = &device;
      one.port = &port;
      for (const v1::CounterSet& set : snapshot.counters()) {
        const bool of_port = set.device() == device.name() && set.port() == port.number();
        const bool of_netdev = !set.netdev().empty() && set.netdev() == port.netdev();
        if (of_port || of_netdev) one.sets.push_back(&set);
      }
    }
  return ports;
}

std::optional<std::uint64_t> CounterSum(const PortCounters& port, std::string_view neutral) {
  std::optional<std::uint64_t> sum;
  for (const v1::CounterSet* set : port.sets) {
    v1::CounterSource source = {};
    for (const v1::Counter& counter : set->counters()) {
      if (!Matches(counter, neutral)) continue;
      if (!sum) source = counter.source();
      if (counter.source() != source) continue;  // The same events, read in another way
      if (counter.saturated()) return {};
      sum = sum.value_or(0) + counter.value();
    }
    if (sum) return sum;
  }
  return {};
}

std::vector<PortRates> RatesBetween(const v1::NodeSnapshot& before, const v1::NodeSnapshot& after) {
  const double seconds =
      static_cast<double>(Nanoseconds(after.taken_at()) - Nanoseconds(before.taken_at())) / 1e9;
  if (seconds <= 0) return {};
  constexpr std::string_view kSent[] = {"rdma_tx_bytes", "wire_tx_bytes"};
  constexpr std::string_view kReceived[] = {"rdma_rx_bytes", "wire_rx_bytes"};
  constexpr std::string_view kPausesSent[] = {"pfc_tx_frames_prio*", "pfc_tx_frames",
                                              "pause_tx_frames"};
  constexpr std::string_view kPausesReceived[] = {"pfc_rx_frames_prio*", "pfc_rx_frames",
                                                  "pause_rx_frames"};
  const std::vector<PortCounters> earlier = PortsWithCounters(before);
  std::vector<PortRates> rates;
  for (const PortCounters& now : PortsWithCounters(after)) {
    PortRates& row = rates.emplace_back();
    row.path = Format("{}/{}/{}", after.node().name(), now.device->name(), now.port->number());
    row.netdev = now.port->netdev();
    row.state = now.port->state();
    for (const PortCounters& then : earlier) {
      if (then.device->name() != now.device->name() || then.port->number() != now.port->number())
        continue;
      row.sent_bps = Rate(FirstOf(then, kSent), FirstOf(now, kSent), seconds, 8);
      row.received_bps = Rate(FirstOf(then, kReceived), FirstOf(now, kReceived), seconds, 8);
      row.pauses_sent = Rate(FirstOf(then, kPausesSent), FirstOf(now, kPausesSent), seconds);
      row.pauses_received =
          Rate(FirstOf(then, kPausesReceived), FirstOf(now, kPausesReceived), seconds);
      row.congestion = Rate(SumOf(then, kCongestionNames), SumOf(now, kCongestionNames), seconds);
      row.errors = Rate(SumOf(then, kErrorNames), SumOf(now, kErrorNames), seconds);
    }
  }
  return rates;
}

}  // namespace fabric::ctl
