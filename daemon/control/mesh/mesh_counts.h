// Newest ping counts of the mesh by pair: sums for display, results for blame. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/blame/blame.h"
#include "daemon/plan/mesh.h"
#include "fabric/v1/mesh.pb.h"

namespace fabric::control {

struct MeshSum {
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  std::uint64_t voided = 0;
  // Of the newest window that has them
  std::optional<double> median_us = {};
  std::optional<double> p99_us = {};
};

// Of one pair of ports, one way.
class MeshCounts {
 public:
  // Number of windows that are kept.
  static constexpr std::size_t kWindowsMax = 6;

  // `ping` is valid. Counts of single flows are kept if a ping was lost, or with `keep_flows`.
  void Add(v1::PingSummary ping, bool keep_flows);

  std::uint64_t sent() const { return sent_; }
  std::uint64_t lost() const { return lost_; }
  std::uint64_t voided() const { return voided_; }
  std::size_t flows_kept() const { return flows_kept_; }
  MeshSum Sum() const;

  // Adds ping results for blame: one for each window if a ping was lost, otherwise one in total.
  void AddTo(const v1::ProbePort& from, const v1::ProbePort& to, bool across,
             google::protobuf::RepeatedPtrField<v1::PairResult>& results) const;

 private:
  struct Window {
    std::uint32_t number;  // Rising
    v1::PingSummary ping;
  };

  std::vector<Window> windows_;  // Not a deque, which takes 600 bytes when it is empty
  std::uint32_t next_ = 1;
  std::uint64_t sent_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t voided_ = 0;
  std::size_t flows_kept_ = 0;
};

// Whether the numbers are consistent; agents may be faulty.
bool Sound(const v1::PingSummary& ping);

// Sums over the pairs between two leaves, in the order of the plan.
std::vector<v1::MeshLeafPair> SumsOf(const plan::MeshPlan& plan, std::span<const MeshSum> pairs);

}  // namespace fabric::control
