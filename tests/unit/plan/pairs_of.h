// Plans for built nodes, and their pairs as text.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "daemon/plan/plan.h"
#include "tests/testing/nodes.h"

namespace fabric::plan {

inline Result<Plan> PlanFor(const std::vector<v1::NodeSnapshot>& nodes,
                            const v1::CampaignSpec& spec = {}) {
  fleet::Fleet fleet;
  for (const v1::NodeSnapshot& node : nodes) fleet.Put(node, {});
  return MakePlan(fleet::FleetView(fleet), spec);
}

inline std::string NameOf(const v1::ProbePort& port) {
  return port.node() + "/" + port.device();
}

inline std::vector<std::vector<PairTask>> RoundsOf(const Plan& plan) {
  std::vector<std::vector<PairTask>> rounds;
  for (std::size_t round = 0; round < plan.rounds.size(); ++round) {
    rounds.emplace_back();
    for (const Pair& pair : plan.rounds.At(round)) rounds.back().push_back(plan.Task(pair));
  }
  return rounds;
}

// Every pair as "n1/rxe0 n2/rxe0", the ends sorted.
inline std::multiset<std::string> Pairs(const Plan& plan) {
  std::multiset<std::string> pairs;
  for (const auto& round : RoundsOf(plan)) {
    for (const PairTask& task : round) {
      const auto [a, b] = std::minmax({NameOf(task.from), NameOf(task.to)});
      pairs.insert(Format("{} {}", a, b));
    }
  }
  return pairs;
}

// The whole plan, a line for each round.
inline std::string Text(const Plan& plan) {
  std::string text;
  for (const auto& round : RoundsOf(plan)) {
    for (const PairTask& task : round) text += Format("{}>{} ", NameOf(task.from), NameOf(task.to));
    text += "\n";
  }
  return text;
}

}  // namespace fabric::plan
