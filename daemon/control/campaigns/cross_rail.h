// Failed probes between rails with subnets of their own: without a route they accuse no switch.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "daemon/control/campaigns/result_analyzer.h"
#include "daemon/control/probing/expectations.h"
#include "fabric/v1/coverage.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

class CrossRailResults {
 public:
  // True if the result is kept back: it failed, and its ports are in different subnets.
  bool Take(const v1::PairResult& result, const Expectations& expectations);

  // Rails between which every probe failed are gaps. Results between others go to the analyzer.
  std::vector<v1::CoverageGap> Finish(ResultAnalyzer& analyzer);

 private:
  struct Rails {
    std::uint32_t passed = 0;
    std::uint32_t failed = 0;
    std::string subnets;               // "10.10.0.0/24 and 10.10.1.0/24"
    std::vector<v1::PairResult> kept;  // At most kKeptMax
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Rails> rails_;
};

}  // namespace fabric::control
