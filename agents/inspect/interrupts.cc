#include <algorithm>
#include <map>
#include <set>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/host_texts.h"
#include "agents/inspect/parse/parse.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kInterruptsName = "interrupts";

using Numbers = std::set<std::uint32_t>;

// NUMA node by CPU.
std::map<std::uint32_t, std::int32_t> NodesOfCpus(const v1::NodeSnapshot& snapshot) {
  std::map<std::uint32_t, std::int32_t> nodes;
  for (const v1::NumaNode& node : snapshot.host().numa_cpus())
    if (const auto cpus = NumbersOfList(node.cpus()); cpus.ok())
      for (const std::uint32_t cpu : *cpus) nodes[cpu] = static_cast<std::int32_t>(node.id());
  return nodes;
}

// CPUs that handle the interrupt. Empty: none was requested by the driver. Kernels without
// CONFIG_GENERIC_IRQ_EFFECTIVE_AFF_MASK have only the permitted CPUs, which say nothing.
Result<std::vector<std::uint32_t>> CpusOf(const Host& host, std::string_view interrupt) {
  ASSIGN_OR_RETURN(const std::string text,
                   host.root.Text(Format("proc/irq/{}/effective_affinity_list", interrupt)));
  return NumbersOfList(text);
}

struct Machine {
  const Host& host;
  std::map<std::uint32_t, std::int32_t> nodes;
};

void ReadInterrupts(const Machine& machine, const Gaps& gaps, v1::PciFunction& function) {
  const std::string directory = Format("sys/bus/pci/devices/{}/msi_irqs", function.address());
  const Result<Dir> dir = machine.host.root.Sub(directory);
  const auto names = dir.ok() ? dir->Names() : Result<std::vector<std::string>>(dir.status());
  if (!names.ok()) {
    // A function without a driver has none.
    if (names.status().code() != Code::kNotFound) gaps.Add(directory, names.status());
    return;
  }
  v1::Interrupts interrupts;
  Numbers cpus;
  std::uint32_t remote = 0;
  bool known = function.has_numa_node() && !machine.nodes.empty();
  for (const std::string& name : *names) {
    if (!ParseNumber<std::uint32_t>(name).ok()) continue;
    const auto handled_by = CpusOf(machine.host, name);
    if (!handled_by.ok()) {
      if (handled_by.status().code() != Code::kNotFound)
        gaps.Add(Format("proc/irq/{}/effective_affinity_list", name), handled_by.status());
      continue;
    }
    if (handled_by->empty()) continue;
    interrupts.set_count(interrupts.count() + 1);
    cpus.insert(handled_by->begin(), handled_by->end());
    const auto is_remote = [&](std::uint32_t cpu) {
      const auto node = machine.nodes.find(cpu);
      known = known && node != machine.nodes.end();
      return known && node->second != function.numa_node();
    };
    if (std::any_of(handled_by->begin(), handled_by->end(), is_remote)) ++remote;
  }
  if (interrupts.count() == 0) return;
  interrupts.set_cpus(ListOfNumbers({cpus.begin(), cpus.end()}));
  std::set<std::int32_t> nodes;
  for (const std::uint32_t cpu : cpus)
    if (const auto node = machine.nodes.find(cpu); node != machine.nodes.end())
      nodes.insert(node->second);
  interrupts.mutable_numa_nodes()->Add(nodes.begin(), nodes.end());
  if (known) interrupts.set_remote(remote);
  *function.mutable_interrupts() = std::move(interrupts);
}

Status InspectInterrupts(const Host& host, v1::NodeSnapshot& out) {
  std::set<std::string> cards;
  for (const v1::RdmaDevice& device : out.rdma_devices())
    if (device.has_pci_address()) cards.insert(device.pci_address());
  const Machine machine{.host = host, .nodes = NodesOfCpus(out)};
  for (v1::PciFunction& function : *out.mutable_pci_functions()) {
    if (!cards.contains(function.address())) continue;
    const Gaps gaps{.snapshot = out, .inspector = kInterruptsName, .subject = function.address()};
    ReadInterrupts(machine, gaps, function);
  }
  return {};
}

}  // namespace

extern const Inspector interrupts = {
    .name = kInterruptsName,
    .doc = "CPUs that handle the interrupts of RDMA cards, and their NUMA nodes.",
    .inspect = InspectInterrupts,
    .wakes = EventKind::kRdma | EventKind::kHotplug | EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kPciFunctionsFieldNumber},
};

}  // namespace fabric::inspect
