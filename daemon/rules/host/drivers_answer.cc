#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

void Fail(const fleet::NodeView& node, const std::vector<const v1::Gap*>& gaps, Verdicts& out) {
  std::vector<std::string> names;
  std::vector<v1::Evidence> evidence;
  for (const v1::Gap* gap : gaps) {
    if (names.empty() || names.back() != gap->inspector()) names.push_back(gap->inspector());
    if (evidence.size() < kListedMax)
      evidence.push_back(
          ToEvidence(*node.node, {.what = "inspection of " + gap->inspector(),
                                  .expected = "an answer",
                                  .seen = gap->reason(),
                                  .source = gap->path().empty() ? gap->inspector() : gap->path(),
                                  .basis = "rule"}));
  }
  out.Fail(SubjectOf(node),
           Format("a driver does not answer ({}), expected an answer: {}", Listed(names),
                  gaps[0]->reason()),
           std::move(evidence),
           {ToRemedy({.command = "dmesg -T | grep -E 'blocked for more than|hung_task|timeout'",
                      .note = "Names the driver that is stuck. Drain the node and boot it; a "
                              "driver that hangs while it is asked hangs jobs as well."})});
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  if (node.ports.empty()) return;
  std::vector<const v1::Gap*> gaps;
  for (const v1::Gap& gap : node.node->snapshot.gaps())
    if (gap.code() == v1::GAP_CODE_DEADLINE_EXCEEDED) gaps.push_back(&gap);
  if (gaps.empty()) return out.Pass();
  Fail(node, gaps, out);
}

}  // namespace

extern const Rule drivers_answer = {
    .id = "drivers_answer",
    .title = "All drivers answer the agent's questions in time",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "A driver that never returns from a read holds everybody who asks it, jobs as well: its "
        "firmware is stuck, or it waits for a lock. What it would have told is not known, so "
        "other rules may be blind on this node.",
    .source = "kernel Documentation/admin-guide/sysctl/kernel.rst (hung_task)",
    .needs = {Input::kAny},
    .fix = "drain and boot the node",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
