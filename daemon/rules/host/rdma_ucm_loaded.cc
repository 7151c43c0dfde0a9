#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

bool Has(const v1::HostFacts& host, std::string_view name) {
  return std::any_of(host.modules().begin(), host.modules().end(),
                     [&](const v1::KernelModule& module) { return module.name() == name; });
}

// iWARP has no other way to connect; RoCE and InfiniBand exchange addresses as they like.
bool NeedsConnectionManager(const fleet::NodeView& node) {
  return std::any_of(node.ports.begin(), node.ports.end(), [](const fleet::PortView& port) {
    return port.rail && port.device->protocol() == v1::PROTOCOL_IWARP && IsUp(port);
  });
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  const v1::HostFacts& host = node.node->snapshot.host();
  if (!NeedsConnectionManager(node)) return;
  if (Has(host, "rdma_ucm")) return out.Pass();
  // A list of modules that is not whole says nothing.
  if (node.node->snapshot.captured() || !Has(host, "ib_core")) return;
  out.Fail(SubjectOf(node), "rdma_ucm is not loaded, expected loaded with iWARP",
           {ToEvidence(*node.node, {.what = "rdma_ucm",
                                    .expected = "loaded",
                                    .seen = "not loaded",
                                    .source = "proc/modules",
                                    .basis = "iWARP connects by RDMA-CM only"})},
           {ToRemedy(
               {.command = "modprobe rdma_ucm", .note = "And in /etc/modules-load.d/rdma.conf."})});
}

}  // namespace

extern const Rule rdma_ucm_loaded = {
    .id = "rdma_ucm_loaded",
    .title = "Where iWARP is, programs can connect: rdma_ucm is loaded",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "iWARP connections are made by RDMA-CM alone. Without its module for user programs every "
        "attempt ends in 'No such device', while verbs tools show the port as ACTIVE.",
    .source = "kernel drivers/infiniband/core/ucma.c",
    .needs = {Input::kRdmaStack},
    .fix = "modprobe rdma_ucm",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
