#include <cmath>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  const v1::TimeSync& sync = node.node->snapshot.time_sync();
  if (!node.expected().has_time_offset_max_us() || !sync.synchronized()) return;
  if (!sync.has_offset_seconds()) return;
  const double most = node.expected().time_offset_max_us();
  const double offset = std::abs(sync.offset_seconds()) * 1e6;
  if (offset <= most) return out.Pass();
  const std::string seen = Format("{} us", std::llround(offset));
  const std::string expected = Format("at most {} us", node.expected().time_offset_max_us());
  out.Fail(SubjectOf(node), Format("clock is {} off, expected {}", seen, expected),
           {ToEvidence(*node.node, {.what = "offset of the clock",
                                    .expected = expected,
                                    .seen = seen,
                                    .source = sync.source(),
                                    .basis = ProfileBasis(*node.expectation)})},
           {ToRemedy({.command = "chronyc tracking",
                      .note = "Then 'chronyc makestep' when no job runs; look for a server that "
                              "is nearer."})});
}

}  // namespace

extern const Rule clock_offset = {
    .id = "clock_offset",
    .title = "Clocks are off by no more than the profile allows",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why = "Events of several nodes are put in order by their clocks.",
    .source = "kernel include/uapi/linux/timex.h (offset)",
    .needs = {Input::kTimeSync},
    .profile = {v1::Expectations::kTimeOffsetMaxUsFieldNumber},
    .fix = "chronyc tracking; a time server that is nearer",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
