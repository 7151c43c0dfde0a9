// Fields that rules read and a snapshot lacks. Part of the engine.
//
// Checks each field once for each member; Read::applies is asked only where a field is missing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/fields.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {

class MissingInputs {
 public:
  // Borrows the rules.
  explicit MissingInputs(std::span<const Rule* const> rules);

  // Finds what these rules miss on a node. Borrows the view until the next call.
  void Find(const fleet::NodeView& node);
  // The rule misses a field of the node as a whole: it cannot pass.
  bool LacksNodeField(const Rule& rule) const;
  // Adds an UNKNOWN for each rule and member, or for the node where one gap explains several ports.
  // `all`: the verdicts of the rules on this node. A rule that has a finding about the member needs
  // no UNKNOWN.
  void Report(Verdicts& all) const;

 private:
  struct Use {
    const Rule* rule = nullptr;
    const Read* read = nullptr;
  };
  struct Uses {
    Field field = {};
    std::vector<Use> uses;
  };
  struct Missing {
    const Rule* rule = nullptr;
    Member member;
    const FieldInfo* info = nullptr;
    const v1::Gap* gap = nullptr;  // nullptr: the agent does not report the field
  };

  static bool IsSameCause(const Missing& a, const Missing& b);
  bool IsOfSeveralPorts(const Missing& missing) const;
  void FindIn(const std::vector<Uses>& fields, const Member& member);

  std::vector<Uses> of_nodes_;
  std::vector<Uses> of_ports_;
  std::vector<Missing> missing_;
};

}  // namespace fabric::rules
