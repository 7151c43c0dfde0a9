#include "base/text.h"
#include "daemon/rules/counters/link_errors.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint64_t kPacketsMin = 10;

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForMoving(node, [&](const PortView& port) {
    const auto bad = CarriesRoce(port) ? Moved(port, Count::kIcrcErrors) : std::nullopt;
    if (!bad || HasBadLink(port)) return;
    if (bad->delta < kPacketsMin) return out.Pass();
    const std::string seen = Format("{} packets in {}", bad->delta, ShowSeconds(bad->seconds));
    FailMoving(port,
               {.title = "RoCE packets with a bad invariant checksum: " + seen + ", expected none",
                .expected = "none",
                .seen = seen,
                .count = Count::kIcrcErrors},
               {ToRemedy({.command = Format("rdma statistic show link {}/{}", port.device->name(),
                                            port.port->number()),
                          .note = "The link is in order, so something on the way changed what it "
                                  "must not: a switch or tunnel that rewrites headers, or bad "
                                  "memory in a switch."})},
               out);
  });
}

}  // namespace

extern const Rule roce_packets_intact = {
    .id = "roce_packets_intact",
    .title = "RoCE packets arrive with the invariant checksum they were sent with",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "The checksum covers what nobody may change between two hosts. Frames that were damaged "
        "on a link do not come so far: a device on the way rewrites or damages packets.",
    .source = "InfiniBand specification, annex 17 (RoCE v2), ICRC; rx_icrc_encapsulated",
    .needs = {Input::kCounters},
    .fix = "The switch or tunnel on the way",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
