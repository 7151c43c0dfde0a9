// What the newest windows of the mesh say, pair by pair: sums for people, observations for blame.
// Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "daemon/blame/blame.h"
#include "daemon/plan/mesh.h"
#include "fabric/v1/mesh.pb.h"

namespace fabric::control {

// Of one pair of ports, one way.
class MeshCounts {
 public:
  // As many windows are known.
  static constexpr std::size_t kWindowsMax = 6;

  // `ping` is sound. What it says of single flows is kept where something was lost, or if
  // `keep_flows`.
  void Add(v1::PingSummary ping, bool keep_flows);

  std::uint64_t sent() const { return sent_; }
  std::uint64_t lost() const { return lost_; }
  std::uint64_t voided() const { return voided_; }
  std::size_t flows_kept() const { return flows_kept_; }
  // Of the newest window that has one
  std::optional<double> median_us() const;
  std::optional<double> p99_us() const;

  // As results of pings, for blame: one for each window when something was lost, else one in all.
  void AddTo(const v1::ProbePort& from, const v1::ProbePort& to, bool across,
             google::protobuf::RepeatedPtrField<v1::PairResult>& results) const;

 private:
  struct Window {
    std::uint32_t number;  // Rising
    v1::PingSummary ping;
  };

  std::deque<Window> windows_;
  std::uint32_t next_ = 1;
  std::uint64_t sent_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t voided_ = 0;
  std::size_t flows_kept_ = 0;
};

// Whether the numbers can be: agents of other versions, or broken ones, may say anything.
bool Sound(const v1::PingSummary& ping);

// Sums of the pairs between each two leaves, in the order of the plan.
std::vector<v1::MeshLeafPair> SumsOf(const plan::MeshPlan& plan,
                                     const std::vector<MeshCounts>& counts);

}  // namespace fabric::control
