// Absolute limits over a campaign: what most paths of the fabric or of a rail miss, which a
// comparison of the paths with each other does not show. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "daemon/control/probing/expectations.h"
#include "fabric/v1/blame.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

class ExpectationTally {
 public:
  // Counts the result if its expectation has a limit.
  void Add(const v1::PairResult& result, const Expectations& expectations);

  // Adds a suspect for what most paths miss and no suspect of the report explains. With fewer than
  // three ports it is the undecided pair.
  void AddTo(v1::BlameReport& report) const;
  // Number of results without a limit, by reason.
  const std::map<std::string, std::uint32_t>& not_judged() const { return not_judged_; }

 private:
  struct Figure {
    v1::ProbePort from, to;
    std::string from_leaf, to_leaf;
    bool speed = false;
    bool missed = false;
    double limit = 0;
    double seen = 0;
    std::string basis;
  };
  using Figures = std::vector<const Figure*>;

  static bool MostMiss(const Figures& figures);
  static void AddSuspect(const Figures& figures, v1::Suspect suspect, v1::BlameReport& report);
  void AddSlow(bool speed, v1::BlameReport& report) const;

  std::vector<Figure> figures_;
  std::map<std::string, std::uint32_t> not_judged_;
};

// True if the port is an end of the suspect, or a member of it. `leaf`: of the port; empty: not
// known.
bool Holds(const v1::Suspect& suspect, const v1::ProbePort& port, const std::string& leaf);
// The suspect to ask Holds() about. Exact paths also name switches and cables that no port is
// attached to, such as spines: all ports may use these. `leaves`: of the ports.
v1::Suspect WithMembers(v1::Suspect suspect, const std::set<std::string>& leaves);

}  // namespace fabric::control
