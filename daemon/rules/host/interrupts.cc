#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// CPUs of a NUMA node, by the list of the kernel: "0-31,64-95".
std::uint64_t CpusInList(std::string_view list) {
  std::uint64_t count = 0;
  for (const std::string_view range : Split(list, ',')) {
    const std::size_t dash = range.find('-');
    const auto first = ParseNumber<std::uint32_t>(Trim(range.substr(0, dash)));
    const auto last = dash == std::string_view::npos
                          ? first
                          : ParseNumber<std::uint32_t>(Trim(range.substr(dash + 1)));
    if (first.ok() && last.ok() && *last >= *first) count += *last - *first + 1;
  }
  return count;
}

std::uint64_t LocalCpus(const v1::NodeSnapshot& snapshot, std::int32_t numa_node) {
  for (const v1::NumaNode& node : snapshot.host().numa_cpus())
    if (static_cast<std::int32_t>(node.id()) == numa_node) return CpusInList(node.cpus());
  return 0;
}

// Drivers create one interrupt for each CPU, up to a limit. More than the NUMA node has CPUs: the
// others are on neighbors by design. Then at least one must be local.
bool IsRemote(const v1::PciFunction& function, std::uint64_t local_cpus) {
  const v1::Interrupts& interrupts = function.interrupts();
  if (interrupts.remote() == interrupts.count()) return interrupts.count() > 1;
  return interrupts.count() <= local_cpus && 2 * interrupts.remote() > interrupts.count();
}

std::string ShowNodes(const v1::Interrupts& interrupts) {
  std::vector<std::string> nodes;
  for (const std::int32_t node : interrupts.numa_nodes()) nodes.push_back(Format("{}", node));
  return Join(nodes, ", ");
}

void FailInterrupts(const fleet::PortView& port, const v1::PciFunction& function, Verdicts& out) {
  const v1::HostFacts& host = port.node->snapshot.host();
  const v1::Interrupts& interrupts = function.interrupts();
  const std::string seen = Format("{} of {} on NUMA nodes {} (CPUs {})", interrupts.remote(),
                                  interrupts.count(), ShowNodes(interrupts), interrupts.cpus());
  const std::string expected = Format("on NUMA node {}", function.numa_node());
  std::string note =
      "Move them to CPUs near the card: set_irq_affinity_cpulist.sh of mlnx-tools, or write the "
      "CPU list to /proc/irq/N/smp_affinity_list.";
  if (host.irqbalance_running()) note += " irqbalance runs and moves them: stop it first.";
  out.Fail(DeviceSubject(port),
           Format("interrupts of {} handled by another NUMA node: {}, expected {}",
                  port.device->name(), seen, expected),
           {ToEvidence(*port.node,
                       {.what = "CPUs of interrupts",
                        .expected = expected,
                        .seen = seen,
                        .source = Format("proc/irq of {}", PciFile(function.address(), "msi_irqs")),
                        .basis = "NUMA node of the card"})},
           {Query({.command = Format("cd /proc/irq && for i in $(ls {}); do echo $i $(cat "
                                     "$i/effective_affinity_list); done",
                                     "/" + PciFile(function.address(), "msi_irqs")),
                   .note = std::move(note)})});
}

void JudgeInterrupts(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (snapshot.host().numa_cpus_size() < 2) return;
  std::string_view last;  // A card with two ports has one set of interrupts.
  for (const fleet::PortView& port : node.ports) {
    const v1::PciFunction* const function = FunctionOf(port);
    if (!port.rail || function == nullptr || !function->interrupts().has_remote() ||
        !function->has_numa_node() || port.device->name() == last)
      continue;
    last = port.device->name();
    if (IsRemote(*function, LocalCpus(snapshot, function->numa_node())))
      FailInterrupts(port, *function, out);
    else
      out.Pass();
  }
}

// A machine with one NUMA node has no other one.
bool HasSeveralNumaNodes(const Member& member) {
  return member.snapshot().host().numa_nodes() > 1 && IsHardware(member);
}

}  // namespace

extern const Rule interrupts_near_card = {
    .id = "interrupts_near_card",
    .title = "CPUs of a card's own NUMA node handle its interrupts",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "Each completion that a program waits for crosses to the other socket and back. Programs "
        "that poll do not notice; storage, IPoIB and programs that sleep have higher latency.",
    .source =
        "kernel Documentation/core-api/irq/irq-affinity.rst; NVIDIA performance tuning for "
        "adapters (set_irq_affinity)",
    .needs = {Input::kInterrupts},
    .reads = {{.field = Field::kInterrupts, .applies = HasSeveralNumaNodes}},
    .fix = "set_irq_affinity_cpulist.sh; stop irqbalance",
    .evaluate_node = JudgeInterrupts,
};

}  // namespace fabric::rules
