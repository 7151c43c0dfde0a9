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

// A fleet in which nobody keeps clocks is one by choice, unless a profile wants otherwise.
void Evaluate(const fleet::FleetView& fleet, Verdicts& out) {
  std::size_t known = 0;
  std::size_t synchronized = 0;
  for (const fleet::NodeView& node : fleet.nodes()) {
    const v1::TimeSync& sync = node.node->snapshot.time_sync();
    if (!sync.has_synchronized()) continue;
    ++known;
    if (sync.synchronized()) ++synchronized;
  }
  for (const fleet::NodeView& node : fleet.nodes()) {
    const v1::TimeSync& sync = node.node->snapshot.time_sync();
    if (!sync.has_synchronized()) continue;
    if (sync.synchronized())
      out.Pass();
    else if (node.expected().has_time_offset_max_us())
      Fail(node, ProfileBasis(*node.expectation), out);
    else if (2 * synchronized > known)
      Fail(node, Format("{} of {} nodes are", synchronized, known), out);
  }
}

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
    .family = "time",
    .needs = "time_sync",
    .profile = "time_offset_max_us",
    .fix = "systemctl enable --now chrony",
    .evaluate_fleet = Evaluate,
};

}  // namespace fabric::rules
