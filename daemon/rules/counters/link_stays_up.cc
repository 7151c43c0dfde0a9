#include "base/text.h"
#include "daemon/rules/counters/link_errors.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void Fail(const PortView& port, const CounterIncrease& downs, Verdicts& out) {
  const std::string seen = Format("{} times in {}", downs.delta, ShowSeconds(downs.seconds));
  FailMoving(port,
             {.title = Format("link went down {}, expected to stay up", seen),
              .expected = "fewer than 5 times a day",
              .seen = seen,
              .count = Count::kLinkDowns},
             {ToRemedy({.command = Format("dmesg | grep -i -e 'link' -e {}", WireName(port)),
                        .note = "When, and whether the other ports of the switch went with it. "
                                "Then reseat or exchange cable and module. A port that is up again "
                                "has new GIDs: jobs that run do not find it."})},
             out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForMoving(node, [&](const PortView& port) {
    const auto downs = MovedOnLink(port, Count::kLinkDowns);
    if (!downs) return;
    if (IsFlapping(port))
      Fail(port, *downs, out);
    else
      out.Pass();
  });
}

}  // namespace

extern const Rule link_stays_up = {
    .id = "link_stays_up",
    .title = "The link of a port that is in use does not go down and up",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Each time the queue pairs of running jobs fail or wait for seconds, and RoCE registers "
        "its GIDs anew, perhaps in another order. Between two flaps every check finds the port "
        "in order. Once is maintenance; twice within an hour is not.",
    .source = "IBTA LinkDownedCounter; kernel sysfs-class-net (carrier_down_count)",
    .needs = "counters",
    .fix = "Reseat or exchange cable and module",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
