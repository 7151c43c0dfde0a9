#include "daemon/api/metrics_rails.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/api/metric_values.h"
#include "proto/names.h"

namespace fabric::api {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using RailLabels = std::vector<ClientMetric::Label>;

constexpr double kMicrosecond = 1e-6;

void AddDistribution(std::uint32_t rail, const control::Distribution& values, double unit,
                     MetricFamily& family) {
  if (values.count() == 0) return;
  const std::string name = Format("{}", rail);
  Add(family, {{"rail", name}, {"aggregate", "min"}}, values.min() * unit);
  Add(family, {{"rail", name}, {"aggregate", "median"}}, values.Median() * unit);
  Add(family, {{"rail", name}, {"aggregate", "max"}}, values.max() * unit);
}

void AddPings(const RailLabels& labels, const control::PingCounts& pings, MetricFamily& family) {
  const auto add = [&](const char* result, std::uint64_t count) {
    RailLabels all = labels;
    all.push_back({"result", result});
    Add(family, std::move(all), static_cast<double>(count));
  };
  add("answered", pings.sent - pings.lost - pings.voided);
  add("lost", pings.lost);
  add("voided", pings.voided);
}

void AddWorst(const std::vector<control::MeshNumbers::Pair>& pairs, double unit,
              MetricFamily& family) {
  for (const control::MeshNumbers::Pair& pair : pairs)
    Add(family,
        {{"from_leaf", pair.from_leaf},
         {"to_leaf", pair.to_leaf},
         {"rail", Format("{}", pair.rail)}},
        pair.value * unit);
}

// `counts`: ports by value.
void AddExtremes(std::uint32_t rail, const std::map<std::uint64_t, std::uint64_t>& counts,
                 double unit, MetricFamily& family) {
  if (counts.empty()) return;
  const std::string name = Format("{}", rail);
  Add(family, {{"rail", name}, {"aggregate", "min"}},
      static_cast<double>(counts.begin()->first) * unit);
  Add(family, {{"rail", name}, {"aggregate", "max"}},
      static_cast<double>(counts.rbegin()->first) * unit);
}

}  // namespace

void RailPortStates(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [rail, ports] : input.fleet.rails) {
    std::map<std::string, std::uint64_t> by_state = {{"active", 0}, {"down", 0}};
    for (const auto& [state, count] : ports.states) by_state[LowerName(Name(state))] += count;
    for (const auto& [state, count] : by_state)
      Add(family, {{"rail", Format("{}", rail)}, {"state", state}}, static_cast<double>(count));
  }
}

void RailPortRates(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [rail, ports] : input.fleet.rails)
    AddExtremes(rail, ports.rates_bps, 1.0 / 8, family);
}

void RailPortMtus(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [rail, ports] : input.fleet.rails)
    AddExtremes(rail, ports.mtus_bytes, 1, family);
}

void Latency(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [rail, results] : input.fleet.newest)
    AddDistribution(rail, results.latency_us, kMicrosecond, family);
}

void Bandwidth(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [rail, results] : input.fleet.newest)
    AddDistribution(rail, results.bandwidth_bps, 1.0 / 8, family);
}

void MeshPings(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [rail, sums] : input.fleet.mesh.rails)
    AddPings({{"rail", Format("{}", rail)}}, sums.pings, family);
}

void MeshRoundTrip(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [rail, sums] : input.fleet.mesh.rails)
    AddDistribution(rail, sums.round_trip_us, kMicrosecond, family);
}

void MeshLeafPings(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [leaf, pings] : input.fleet.mesh.leaves)
    AddPings({{"leaf", leaf}}, pings, family);
}

void MeshLeavesOmitted(const MetricsInput& input, MetricFamily& family) {
  Add(family, {}, static_cast<double>(input.fleet.mesh.leaves_omitted));
}

void MeshWorstLoss(const MetricsInput& input, MetricFamily& family) {
  AddWorst(input.fleet.mesh.worst_loss, 1, family);
}

void MeshWorstRoundTrip(const MetricsInput& input, MetricFamily& family) {
  AddWorst(input.fleet.mesh.worst_round_trip, kMicrosecond, family);
}

}  // namespace fabric::api
