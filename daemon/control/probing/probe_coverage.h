// Probe coverage: decides whether the probes of one class of traffic have shown enough of each port
// to resolve a located fault. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "fabric/v1/blame.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

class ProbeCoverage {
 public:
  ProbeCoverage() = default;
  // `pairs`: names of pairs that must be known one by one, see PairName().
  explicit ProbeCoverage(std::set<std::string> pairs) : pairs_(std::move(pairs)) {}

  // Counts a result that is ok.
  void Take(const v1::PairResult& result);

  // True if the results at this port would have shown the fault of the suspect.
  bool Shows(const v1::Suspect& suspect, const std::string& port) const;
  bool ShowsPair(const v1::Suspect& suspect) const;
  bool empty() const { return ports_.empty(); }

 private:
  struct Counts {
    std::uint32_t results = 0;
    std::uint64_t packets = 0;
    std::uint32_t speeds = 0;
    std::uint32_t latencies = 0;

    void Add(const v1::ProbeResult& result);
    bool Shows(const v1::Suspect& suspect, std::uint32_t results_min) const;
  };

  std::set<std::string> pairs_;
  std::map<std::string, Counts> ports_;  // By name
  std::map<std::string, Counts> of_pairs_;
};

// "n1/mlx5_0/1 and n2/mlx5_0/1", the same for both directions.
std::string PairName(const std::string& a, const std::string& b);
std::string PairName(const v1::Suspect& pair);

}  // namespace fabric::control
