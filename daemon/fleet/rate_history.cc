#include "daemon/fleet/rate_history.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "base/text.h"
#include "fabric/v1/fabric.pb.h"
#include "proto/timestamps.h"

namespace fabric::fleet {

std::size_t RateHistory::BytesOf(const Port& port) {
  std::size_t bytes = sizeof(Port);
  for (const Series& series : port.series)
    if (series.rates != nullptr) bytes += sizeof(*series.rates);
  return bytes;
}

bool RateHistory::Reserve(Node& node, std::size_t bytes) {
  const std::size_t share = std::max(node_bytes_min_, bytes_max_ / nodes_.size());
  if (node.bytes + bytes > share || bytes_ + bytes > bytes_max_) {
    node.limit = node.bytes + bytes > share ? share : bytes_max_;
    return false;
  }
  node.bytes += bytes;
  bytes_ += bytes;
  return true;
}

// Drops ports that the node no longer has, and whose last window is an hour ago; `with_history`:
// any.
void RateHistory::DropMissing(Node& node, const v1::NodeSnapshot& snapshot, bool with_history) {
  std::set<std::pair<std::string_view, std::uint32_t>> present;
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    for (const v1::Port& port : device.ports()) present.emplace(device.name(), port.number());
  for (auto at = node.ports.begin(); at != node.ports.end();) {
    const bool empty = std::ranges::all_of(
        at->second.series, [](const Series& series) { return series.known.none(); });
    if (present.contains({at->first.first, at->first.second}) || !(empty || with_history)) {
      ++at;
      continue;
    }
    const std::size_t bytes = BytesOf(at->second);
    node.bytes -= bytes;
    bytes_ -= bytes;
    at = node.ports.erase(at);
  }
}

void RateHistory::Store(Node& node, Series& series, std::size_t place, double rate) {
  if (series.rates == nullptr && rate > 0) {
    if (!Reserve(node, sizeof(*series.rates))) {
      series.known.reset(place);
      return;
    }
    series.rates = std::make_unique<std::array<float, kWindows>>();
  }
  series.known.set(place);
  if (series.rates != nullptr) (*series.rates)[place] = static_cast<float>(rate);
}

void RateHistory::Take(const std::string& name, const v1::NodeSnapshot& snapshot,
                       const CounterRates& rates, WallTime now) {
  Node& node = nodes_[name];
  const std::size_t place = node.windows++ % kWindows;
  node.ended_at.push_back(now);
  if (node.ended_at.size() > kWindows) node.ended_at.pop_front();
  for (auto& [key, port] : node.ports)
    for (Series& series : port.series) series.known.reset(place);
  DropMissing(node, snapshot, false);
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    for (const v1::Port& port : device.ports()) {
      const std::pair key{device.name(), port.number()};
      auto at = node.ports.find(key);
      if (at == node.ports.end()) {
        if (!Reserve(node, sizeof(Port))) {
          DropMissing(node, snapshot, true);
          if (!Reserve(node, sizeof(Port))) return;
        }
        at = node.ports.try_emplace(key).first;
      }
      const CounterSetIndexes places = CounterSetsOf(snapshot, device, port);
      for (std::size_t i = 0; i < kCounts.size(); ++i)
        if (const auto increase = rates.IncreaseOf(places, kCounts[i]))
          Store(node, at->second.series[i], place, increase->PerSecond());
    }
  }
}

void RateHistory::Forget(const std::string& name) {
  const auto node = nodes_.find(name);
  if (node == nodes_.end()) return;
  bytes_ -= node->second.bytes;
  nodes_.erase(node);
}

v1::CounterHistory RateHistory::Of(const std::string& name) const {
  v1::CounterHistory history;
  const auto at = nodes_.find(name);
  if (at == nodes_.end()) return history;
  const Node& node = at->second;
  for (const WallTime time : node.ended_at) *history.add_ended_at() = ToProto(time);
  if (node.limit != 0)
    history.set_reason(Format("the limit of {} bytes for {} is reached", node.limit,
                              node.limit == bytes_max_ ? "all histories" : "one node"));
  const std::uint64_t first = node.windows - node.ended_at.size();
  for (const auto& [key, port] : node.ports) {
    v1::PortCounterHistory& shown = *history.add_ports();
    shown.set_device(key.first);
    shown.set_port(key.second);
    for (std::size_t i = 0; i < kCounts.size(); ++i) {
      const Series& series = port.series[i];
      if (series.known.none()) continue;
      v1::CounterSeries& made = *shown.add_series();
      made.set_name(NeutralName(kCounts[i]));
      for (std::uint32_t window = 0; window < node.ended_at.size(); ++window) {
        const std::size_t place = (first + window) % kWindows;
        if (!series.known.test(place)) continue;
        made.add_windows(window);
        made.add_per_second(series.rates == nullptr ? 0.0 : double{(*series.rates)[place]});
      }
    }
  }
  return history;
}

}  // namespace fabric::fleet
