// One port's pings to another one: the flows that take turns, and what came of them in the window
// that runs. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agents/probe/ping/ping_table.h"
#include "base/clock.h"
#include "fabric/v1/mesh.pb.h"

namespace fabric::mesh {

class Target {
 public:
  struct Options {
    Duration answer_within{};
    // Pings before are sent and not counted: both ends may still find each other's addresses.
    SteadyTime counted_from;
    bool hardware_clock = false;
    std::function<Duration(std::uint64_t from, std::uint64_t to)> elapsed;
  };
  Target(v1::MeshTarget order, Options options);
  Target(const Target&) = delete;  // The table calls back.
  Target& operator=(const Target&) = delete;

  const v1::MeshTarget& order() const { return order_; }
  std::uint32_t flows() const;
  std::uint32_t LabelOf(std::uint32_t flow) const;  // 0: of the driver's choice

  probe::PingTable& table() { return table_; }
  // A ping was due that could not leave because the partner's address is not found.
  void CountUnsent(std::uint32_t flow, SteadyTime now);

  // Of pings that were settled since the last call; nothing when there were none.
  std::optional<v1::PingSummary> TakeSummary();
  std::size_t samples() const { return samples_.size(); }

 private:
  // The newest of a window are kept, to bound the memory.
  static constexpr std::size_t kSamplesMax = 4096;

  struct Flow {
    std::uint32_t sent = 0;
    std::uint32_t lost = 0;
    std::uint32_t lost_out = 0;
    std::uint32_t lost_in = 0;
  };
  struct Sample {  // One raw ping; they stay here.
    std::uint32_t flow;
    float network_us;
    float responder_us;
    float initiator_us;
  };

  void Settle(const probe::SettledPing& ping);
  void AddFlows(v1::PingSummary& summary) const;

  const v1::MeshTarget order_;
  const Options options_;
  probe::PingTable table_;
  std::vector<Flow> flows_;
  std::vector<Sample> samples_;
  std::size_t oldest_ = 0;  // Of the samples, once they are full
  std::uint32_t answered_ = 0, lost_ = 0, voided_ = 0, late_ = 0;
};

}  // namespace fabric::mesh
