#include <cmath>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// clock_offset

void JudgeOffset(const fleet::NodeView& node, Verdicts& out) {
  const v1::TimeSync& sync = node.node->snapshot.time_sync();
  if (!node.expected().has_time_offset_max_us() || !sync.synchronized()) return;
  if (!sync.has_offset_seconds()) return;
  const double maximum = node.expected().time_offset_max_us();
  const double offset = std::abs(sync.offset_seconds()) * 1e6;
  if (offset <= maximum) return out.Pass();
  const std::string seen = Format("{} us", std::llround(offset));
  const std::string expected = Format("at most {} us", node.expected().time_offset_max_us());
  out.Fail(SubjectOf(node), Format("clock is {} off, expected {}", seen, expected),
           {ToEvidence(*node.node, {.what = "offset of the clock",
                                    .expected = expected,
                                    .seen = seen,
                                    .source = sync.source(),
                                    .basis = ProfileBasis(*node.expectation)})},
           {Query({.command = "timedatectl timesync-status || chronyc tracking",
                   .note = "Shows the server and the offset. Then step the clock when no job runs "
                           "(chronyc makestep), and use a nearer server. With PTP: pmc -u -b 0 "
                           "'GET CURRENT_DATA_SET'."})});
}

// clock_synchronized

void Fail(const fleet::NodeView& node, std::string basis, Verdicts& out) {
  std::string title = Format("clock is not synchronized, expected synchronized ({})", basis);
  out.Fail(SubjectOf(node), std::move(title),
           {ToEvidence(*node.node, {.what = "clock",
                                    .expected = "synchronized",
                                    .seen = "not synchronized",
                                    .source = "adjtimex",
                                    .basis = std::move(basis)})},
           {Query({.command = "systemctl list-units --all 'chrony*' 'ntp*' 'ptp4l*' 'phc2sys*' "
                              "'systemd-timesyncd*'",
                   .note = "Shows the time services of the node. Repair the one that is "
                           "configured: its servers have to answer (chronyc sources, ntpq -p, "
                           "timedatectl timesync-status). Start a second service only if there "
                           "is none: two of them pull the clock apart."})});
}

std::optional<Value> Synchronized(const Member& node) {
  const v1::TimeSync& sync = node.snapshot().time_sync();
  if (!sync.has_synchronized()) return {};
  return Value{sync.synchronized() ? 1U : 0U};
}

GroupSummary CountSynchronized(const ValueCounts& counts) {
  std::uint64_t synchronized = 0;
  for (const ValueCounts::Entry& entry : counts.values)
    if (entry.value.number != 0) synchronized = entry.members;
  return {.facts = {2 * synchronized > counts.members ? 1U : 0U},
          .shown = {{.count = synchronized, .of = counts.members}}};
}

// A fleet without synchronized clocks is accepted, unless a profile says otherwise.
void Judge(const Member& member, const GroupSummary& fleet, Verdicts& out) {
  const fleet::NodeView& node = *member.node;
  if (node.node->snapshot.time_sync().synchronized())
    out.Pass();
  else if (node.expected().has_time_offset_max_us())
    Fail(node, ProfileBasis(*node.expectation), out);
  else if (fleet.facts[0] != 0)
    Fail(node, ToText(fleet.shown[0]) + " nodes are", out);
}

constexpr GroupRule kSynchronized = {.of_nodes = true,
                                     .group = WholeFleet,
                                     .value = Synchronized,
                                     .summarize = CountSynchronized,
                                     .judge = Judge};

}  // namespace

extern const Rule clock_offset = {
    .id = "clock_offset",
    .title = "The offset of clocks is within the limit of the profile",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why = "The order of events on several nodes is known only if their clocks agree.",
    .source = "kernel include/uapi/linux/timex.h (offset)",
    .needs = {Input::kTimeSync},
    .profile = {v1::Expectations::kTimeOffsetMaxUsFieldNumber},
    .reads = {{.field = Field::kClockOffset,
               .profile = v1::Expectations::kTimeOffsetMaxUsFieldNumber}},
    .fix = "A nearer time server",
    .evaluate_node = JudgeOffset,
};

extern const Rule clock_synchronized = {
    .id = "clock_synchronized",
    .title = "The clock of every node is synchronized, if most clocks of the fleet are",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "Events of several nodes can be compared only if their clocks agree. Otherwise it is "
        "unknown which link failed first. Certificates and schedulers need correct clocks, too.",
    .source = "kernel include/uapi/linux/timex.h (STA_UNSYNC)",
    .needs = {Input::kTimeSync},
    .profile = {v1::Expectations::kTimeOffsetMaxUsFieldNumber},
    .reads = {{.field = Field::kClock, .profile = v1::Expectations::kTimeOffsetMaxUsFieldNumber},
              {.field = Field::kClock}},
    .fix = "Repair the time service of the node; never start a second one",
    .group_rule = &kSynchronized,
};

}  // namespace fabric::rules
