#include <algorithm>
#include <map>

#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// The cards behind one link, and what their ports carry together.
struct Shared {
  std::map<std::string_view, std::uint64_t> rates;  // By card
  std::vector<std::string> devices;

  std::uint64_t Rate() const {
    std::uint64_t sum = 0;
    for (const auto& [card, rate] : rates) sum += rate;
    return sum;
  }
};

const v1::PciFunction* Judged(const PortView& port) {
  if (!port.rail || !IsUp(port)) return nullptr;
  const v1::PciFunction* const function = FunctionOf(port);
  return function != nullptr && !function->path().empty() ? function : nullptr;
}

// Two cards below one root port: ports are in the order of addresses, neighbours in the tree are
// neighbours here.
bool AnyShared(const fleet::NodeView& node) {
  const v1::PciFunction* before = nullptr;
  for (const PortView& port : node.ports) {
    const v1::PciFunction* const function = Judged(port);
    if (function == nullptr) continue;
    if (before != nullptr && before->path(0) == function->path(0) &&
        CardOf(before->address()) != CardOf(function->address()))
      return true;
    before = function;
  }
  return false;
}

bool HasGpuBelow(const v1::NodeSnapshot& snapshot, const std::string& bridge) {
  return std::any_of(snapshot.gpus().begin(), snapshot.gpus().end(), [&](const v1::Gpu& gpu) {
    const v1::PciFunction* const function = FindFunction(snapshot, gpu.pci_address());
    return function != nullptr &&
           std::count(function->path().begin(), function->path().end(), bridge) > 0;
  });
}

void Fail(const fleet::NodeView& node, const v1::PciFunction& bridge, const Shared& shared,
          std::uint64_t capacity, Verdicts& out) {
  out.Fail(SubjectOf(node),
           Format("{} share a PCIe link of {}, expected the {} of their ports",
                  Listed(shared.devices), ShowGigabits(capacity), ShowGigabits(shared.Rate())),
           {ToEvidence(*node.node, {.what = "PCIe bandwidth of bridge " + bridge.address(),
                                    .expected = "at least " + ShowGigabits(shared.Rate()),
                                    .seen = ShowGigabits(capacity),
                                    .source = PciFile(bridge.address(), "max_link_width"),
                                    .basis = "rate of the ports behind it"})},
           {ToRemedy({.command = "lspci -tv",
                      .note = "Move one of the cards to a slot of its own root port; where that "
                              "cannot be, expect what the link carries."})},
           bridge.address());
}

void JudgeShared(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  std::map<std::string_view, Shared> by_bridge;
  for (const PortView& port : node.ports) {
    const v1::PciFunction* const function = Judged(port);
    if (function == nullptr) continue;
    for (const std::string& bridge : function->path()) {
      Shared& shared = by_bridge[bridge];
      std::uint64_t& rate = shared.rates[CardOf(function->address())];
      rate = std::max(rate, port.port->rate_bps());
      shared.devices.push_back(port.device->name());
    }
  }
  for (const auto& [address, shared] : by_bridge) {
    const v1::PciFunction* const bridge = FindFunction(snapshot, address);
    const auto limit = bridge != nullptr ? CommonLimit(*bridge) : std::nullopt;
    // A card's own switch is the card's business, and GPUs below the same switch are reached
    // without the link.
    if (shared.rates.size() < 2 || !limit || bridge->vendor_id() == "15b3" ||
        bridge->vendor_id() == "1dd8" || bridge->vendor_id() == "14e4" ||
        HasGpuBelow(snapshot, bridge->address()))
      continue;
    const std::uint64_t capacity = BitsPerSecond(limit->megatransfers, limit->width);
    if (capacity >= shared.Rate()) continue;
    return Fail(node, *bridge, shared, capacity, out);  // Of several the one nearest to the root.
  }
  out.Pass();
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  if (AnyShared(node)) JudgeShared(node, out);
}

}  // namespace

extern const Rule pcie_upstream_covers_nics = {
    .id = "pcie_upstream_covers_nics",
    .title = "NICs behind one PCIe switch share a link that carries all of them",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "Two NICs behind one switch have together no more than the link from the switch to the "
        "processor: half of the expected bandwidth, with nothing wrong on either of them. Only "
        "traffic to GPUs below the same switch is spared.",
    .source = "PCI Express Base Specification; github.com/NVIDIA/nccl/issues/439",
    .needs = {Input::kPciFunctions, Input::kRdmaPorts},
    .fix = "move one of the cards to another root port",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
