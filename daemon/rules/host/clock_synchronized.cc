#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

void Fail(const fleet::NodeView& node, std::string basis, Verdicts& out) {
  std::string title = Format("clock is not synchronised, expected synchronised ({})", basis);
  out.Fail(SubjectOf(node), std::move(title),
           {ToEvidence(*node.node, {.what = "clock",
                                    .expected = "synchronised",
                                    .seen = "not synchronised",
                                    .source = "adjtimex",
                                    .basis = std::move(basis)})},
           {ToRemedy({.command = "systemctl enable --now chrony || systemctl enable --now chronyd",
                      .note = "'chronyc tracking' and 'chronyc sources' tell whether a server "
                              "answers."})});
}

std::optional<Value> Synchronized(const Member& node) {
  const v1::TimeSync& sync = node.snapshot().time_sync();
  if (!sync.has_synchronized()) return {};
  return Value{sync.synchronized() ? 1U : 0U};
}

GroupSummary HowMany(const ValueCounts& counts) {
  std::uint64_t synchronized = 0;
  for (const ValueCounts::Entry& entry : counts.values)
    if (entry.value.number != 0) synchronized = entry.members;
  return {.facts = {2 * synchronized > counts.members ? 1U : 0U},
          .shown = {{.count = synchronized, .of = counts.members}}};
}

// A fleet in which nobody keeps clocks is one by choice, unless a profile wants otherwise.
void Judge(const Member& member, const GroupSummary& fleet, Verdicts& out) {
  const fleet::NodeView& node = *member.node;
  if (node.node->snapshot.time_sync().synchronized())
    out.Pass();
  else if (node.expected().has_time_offset_max_us())
    Fail(node, ProfileBasis(*node.expectation), out);
  else if (fleet.facts[0] != 0)
    Fail(node, ToText(fleet.shown[0]) + " nodes are", out);
}

constexpr GroupRule kGroupRule = {.of_nodes = true,
                                  .group = WholeFleet,
                                  .value = Synchronized,
                                  .summarize = HowMany,
                                  .judge = Judge};

}  // namespace

extern const Rule clock_synchronized = {
    .id = "clock_synchronized",
    .title = "The clock of every node is kept right, where those of most are",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "Events of several nodes can be set beside each other only when their clocks agree: which "
        "link went first is then guesswork. Certificates and schedulers suffer as well.",
    .source = "kernel include/uapi/linux/timex.h (STA_UNSYNC)",
    .needs = {Input::kTimeSync},
    .profile = {v1::Expectations::kTimeOffsetMaxUsFieldNumber},
    .fix = "systemctl enable --now chrony",
    .group_rule = &kGroupRule,
};

}  // namespace fabric::rules
