// Fields that rules read and a snapshot lacks. Part of the engine.
//
// Checks each field once for each member; Read::applies is asked only where a field is missing.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/engine/gap_index.h"
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
  // The rule misses a field of the member of that node, or of the node as a whole.
  bool Lacks(const Rule& rule, const fleet::PortView* port) const;
  // Adds an UNKNOWN for each rule and member, or one for the node where several ports lack a field
  // for the same reason.
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
    bool only_optional = false;  // Never UNKNOWN without a gap
  };
  struct Missing {
    const Rule* rule = nullptr;
    Member member;
    const FieldInfo* info = nullptr;
    const v1::Gap* gap = nullptr;  // nullptr: the agent does not report the field
  };

  using Cause = std::tuple<const Rule*, const FieldInfo*, std::string_view>;  // And the reason

  static Cause CauseOf(const Missing& missing);
  static void ReportUnknown(const std::vector<const Missing*>& same, v1::Subject subject,
                            Verdicts& all);
  void FindIn(const std::vector<Uses>& fields, const Member& member);

  std::vector<Uses> of_nodes_;
  std::vector<Uses> of_ports_;
  GapIndex gaps_;
  std::vector<Missing> missing_;
  std::vector<const Rule*> lacking_;  // Rules that miss a field of the node
};

}  // namespace fabric::rules
