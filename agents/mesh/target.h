// Mesh target: outstanding pings from one port to another, and their statistics in the current
// window. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agents/probe/ping/outstanding_pings.h"
#include "base/clock.h"
#include "fabric/v1/mesh.pb.h"

namespace fabric::mesh {

class Target {
 public:
  struct Options {
    Duration answer_within{};
    // Earlier pings are sent but not counted: both ends may still be resolving addresses.
    SteadyTime counted_from;
    bool hardware_clock = false;
    std::function<Duration(std::uint64_t from, std::uint64_t to)> elapsed;
  };
  Target(v1::MeshTarget order, Options options);
  Target(const Target&) = delete;  // The table calls back.
  Target& operator=(const Target&) = delete;

  const v1::MeshTarget& order() const { return order_; }
  std::uint32_t flows() const;
  std::uint32_t LabelOf(std::uint32_t flow) const;  // 0: chosen by the driver

  probe::OutstandingPings& table() { return table_; }
  // Counts a ping as lost that could not be sent because the address was not resolved.
  void CountUnsent(std::uint32_t flow, SteadyTime now);

  // Summary of pings settled since the last call; empty without any.
  std::optional<v1::PingSummary> TakeSummary();
  std::size_t samples() const { return samples_.size(); }

 private:
  // Limit per window; newer samples replace older ones.
  static constexpr std::size_t kSamplesMax = 4096;

  struct Flow {
    std::uint32_t sent = 0;
    std::uint32_t lost = 0;
    std::uint32_t lost_out = 0;
    std::uint32_t lost_in = 0;
  };
  struct Sample {  // One ping; not sent to the controller
    std::uint32_t flow;
    float network_us;
    float responder_us;
    float initiator_us;
  };

  void Settle(const probe::SettledPing& ping);
  void AddFlows(v1::PingSummary& summary) const;

  const v1::MeshTarget order_;
  const Options options_;
  probe::OutstandingPings table_;
  std::vector<Flow> flows_;
  std::vector<Sample> samples_;
  std::size_t oldest_ = 0;  // Index into samples_ when full
  std::uint32_t answered_ = 0, lost_ = 0, voided_ = 0, late_ = 0;
};

}  // namespace fabric::mesh
