#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// pcie_bandwidth_covers_port

// Of the data. The rates of SDR, DDR and QDR are signalling rates: 8 of 10 bits are data.
std::uint64_t RateOf(const PortView& port) {
  if (IsRoce(port) && port.netdev != nullptr && port.netdev->has_speed_bps())
    return port.netdev->speed_bps();
  constexpr std::uint64_t kQdrLane = 10'000'000'000;
  const v1::Port& seen = *port.port;
  const bool by_lane =
      !seen.has_speed() && seen.width() > 0 && seen.link_layer() == v1::LINK_LAYER_INFINIBAND;
  const bool coded = seen.speed() == "SDR" || seen.speed() == "DDR" || seen.speed() == "QDR" ||
                     (by_lane && seen.rate_bps() / seen.width() <= kQdrLane);
  return coded ? seen.rate_bps() / 10 * 8 : seen.rate_bps();
}

struct Bandwidth {
  std::uint64_t bits_per_second = 0;
  std::string words;
  std::string source;
};

// Of the link itself, where the slot is not known.
Bandwidth OfLink(const v1::PciFunction& function) {
  std::uint32_t speed = function.link().speed_megatransfers_per_second();
  if (!KeepsLinkSpeed(function))
    speed = std::max(speed, function.link_max().speed_megatransfers_per_second());
  const std::uint32_t width = function.link().width();
  return {.bits_per_second = BitsPerSecond(speed, width),
          .words = Format("{} x{}", ShowSpeed(speed), width),
          .source = PciFile(function.address(), "current_link_width")};
}

// The maximum of slot and card. A link that trained below it is a finding of another rule. Virtual
// ports above a passed-through card report less than the link has.
std::optional<Bandwidth> OfFunction(const v1::PciFunction& function) {
  const auto limit = CommonLimit(function);
  const std::uint64_t now = function.has_link() ? BitsPerSecond(function.link()) : 0;
  if (now == 0) return {};
  if (!limit) return OfLink(function);
  const std::uint64_t best = BitsPerSecond(limit->megatransfers, limit->width);
  const bool by_limit = best >= now;
  const std::uint32_t speed =
      by_limit ? limit->megatransfers : function.link().speed_megatransfers_per_second();
  const std::uint32_t width = by_limit ? limit->width : function.link().width();
  return Bandwidth{.bits_per_second = std::max(best, now),
                   .words = Format("{} x{}", ShowSpeed(speed), width),
                   .source = PciFile(function.address(), "max_link_width")};
}

// The same, without text.
bool Covers(const v1::PciFunction& function, std::uint64_t rate) {
  if (BitsPerSecond(function.link()) >= rate) return true;
  const auto limit = CommonLimit(function);
  return limit && BitsPerSecond(limit->megatransfers, limit->width) >= rate;
}

// "mlx5_core 0000:5e:00.0: 252.056 Gb/s available PCIe bandwidth, limited by 32.0 GT/s PCIe x8
// link ...": for captures without the files of the link.
std::optional<Bandwidth> OfLog(const PortView& port) {
  constexpr std::string_view kAvailable = " Gb/s available PCIe bandwidth, limited by ";
  for (const v1::KernelLogLine& line : port.node->snapshot.kernel_log()) {
    if (line.category() != "pcie" || line.pci_address() != port.device->pci_address()) continue;
    const std::string_view text = line.text();
    const std::size_t end = text.find(kAvailable);
    if (end == std::string_view::npos) continue;
    const std::size_t begin = text.rfind(' ', end - 1) + 1;
    const std::string_view number = text.substr(begin, end - begin);
    const auto whole = ParseNumber<std::uint32_t>(number.substr(0, number.find('.')));
    if (!whole.ok()) continue;
    const std::string_view rest = text.substr(end + kAvailable.size());
    return Bandwidth{.bits_per_second = (std::uint64_t{*whole} + 1) * 1'000'000'000,
                     .words = std::string(rest.substr(0, rest.find(" link"))),
                     .source = "kernel log"};
  }
  return {};
}

void FailSlot(const PortView& port, const Bandwidth& bandwidth, std::uint64_t rate, Verdicts& out) {
  const std::string seen =
      Format("{} ({})", ShowGigabits(bandwidth.bits_per_second), bandwidth.words);
  out.Fail(port.Subject(),
           Format("PCIe slot gives {}, expected the port's {}", seen, ShowGigabits(rate)),
           {ToEvidence(*port.node, {.what = "PCIe bandwidth of slot and card",
                                    .expected = "at least " + ShowGigabits(rate),
                                    .seen = seen,
                                    .source = bandwidth.source,
                                    .basis = "rate of the port"})},
           {Query({.command = "lspci -tv",
                   .note = "Move the card to a slot with more lanes or a newer generation, or "
                           "give the slot all its lanes in the BIOS (bifurcation)."})});
}

// Cards with several PCIe links (Socket Direct) have one function on each. A port of any of them
// has the rate of the card. Adds the bandwidth of the other links.
void AddOtherLinks(const fleet::NodeView& node, const PortView& port, Bandwidth& bandwidth) {
  const std::string& card = port.device->sys_image_guid();
  if (card.empty() || FunctionOf(port)->path().empty()) return;
  std::set<std::string_view> links = {*FunctionOf(port)->path().rbegin()};
  for (const PortView& other : node.ports) {
    const v1::PciFunction* const function = FunctionOf(other);
    if (other.device->sys_image_guid() != card || function == nullptr || !function->has_link() ||
        function->path().empty() || !links.insert(*function->path().rbegin()).second)
      continue;
    const auto added = OfFunction(*function);
    if (!added) continue;
    bandwidth.bits_per_second += added->bits_per_second;
    bandwidth.words += " and " + added->words;
  }
}

void JudgeSlots(const fleet::NodeView& node, Verdicts& out) {
  // The data of a DPU's ports passes the PCIe link of its host, not that of its own processor.
  if (node.node->snapshot.host().product().find("BlueField") != std::string::npos) return;
  for (const PortView& port : node.ports) {
    if (!port.rail || !IsUp(port)) continue;
    const v1::PciFunction* const function = FunctionOf(port);
    if (function == nullptr) continue;
    const std::uint64_t rate = RateOf(port);
    if (rate == 0) continue;
    if (function->has_link() && Covers(*function, rate)) {
      out.Pass();
      continue;
    }
    auto bandwidth = function->has_link() ? OfFunction(*function) : OfLog(port);
    if (!bandwidth) continue;
    AddOtherLinks(node, port, *bandwidth);
    if (bandwidth->bits_per_second >= rate)
      out.Pass();
    else
      FailSlot(port, *bandwidth, rate, out);
  }
}

// pcie_upstream_covers_nics

// The cards behind one link, and the sum of their port rates.
struct Shared {
  std::map<std::string_view, std::uint64_t> rates;  // By card
  std::vector<std::string> devices;

  std::uint64_t Rate() const {
    std::uint64_t sum = 0;
    for (const auto& [card, rate] : rates) sum += rate;
    return sum;
  }
};

const v1::PciFunction* WithPath(const PortView& port) {
  if (!port.rail || !IsUp(port)) return nullptr;
  const v1::PciFunction* const function = FunctionOf(port);
  return function != nullptr && !function->path().empty() ? function : nullptr;
}

// Two cards are below one root port. Ports are sorted by address, so that neighbors in the tree are
// neighbors here.
bool AnyShared(const fleet::NodeView& node) {
  const v1::PciFunction* before = nullptr;
  for (const PortView& port : node.ports) {
    const v1::PciFunction* const function = WithPath(port);
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

bool IsOnCard(const v1::PciFunction& bridge) {
  return bridge.vendor_id() == "15b3" || bridge.vendor_id() == "1dd8" ||
         bridge.vendor_id() == "14e4";
}

// The bridges, those with fewer bridges above first.
std::vector<const v1::PciFunction*> FromTheRoot(const v1::NodeSnapshot& snapshot) {
  std::vector<const v1::PciFunction*> bridges;
  for (const v1::PciFunction& function : snapshot.pci_functions())
    if (IsBridge(function)) bridges.push_back(&function);
  std::stable_sort(bridges.begin(), bridges.end(),
                   [](const auto* a, const auto* b) { return a->path_size() < b->path_size(); });
  return bridges;
}

void FailUpstream(const fleet::NodeView& node, const v1::PciFunction& bridge, const Shared& shared,
                  std::uint64_t capacity, Verdicts& out) {
  out.Fail(SubjectOf(node),
           Format("{} share a PCIe link of {}, expected the {} of their ports",
                  Listed(shared.devices), ShowGigabits(capacity), ShowGigabits(shared.Rate())),
           {ToEvidence(*node.node, {.what = "PCIe bandwidth of bridge " + bridge.address(),
                                    .expected = "at least " + ShowGigabits(shared.Rate()),
                                    .seen = ShowGigabits(capacity),
                                    .source = PciFile(bridge.address(), "max_link_width"),
                                    .basis = "rate of " + ListedAll(shared.devices)})},
           {Query({.command = "lspci -tv",
                   .note = "Move one of the cards to a slot with its own root port. If that is "
                           "impossible, the link limits the bandwidth."})},
           bridge.address());
}

void JudgeShared(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  std::map<std::string_view, Shared> by_bridge;
  for (const PortView& port : node.ports) {
    const v1::PciFunction* const function = WithPath(port);
    if (function == nullptr) continue;
    for (const std::string& bridge : function->path()) {
      Shared& shared = by_bridge[bridge];
      std::uint64_t& rate = shared.rates[CardOf(function->address())];
      rate = std::max(rate, RateOf(port));
      shared.devices.push_back(port.device->name());
    }
  }
  std::vector<std::vector<std::string>> reported;  // From the root down
  for (const v1::PciFunction* bridge : FromTheRoot(snapshot)) {
    const auto found = by_bridge.find(bridge->address());
    if (found == by_bridge.end() || found->second.rates.size() < 2) continue;
    const Shared& shared = found->second;
    const auto limit = CommonLimit(*bridge);
    // A switch on the card itself does not count, and traffic to GPUs below the same switch does
    // not use the link.
    if (!limit || IsOnCard(*bridge) || IsWithinSwitch(snapshot, *bridge) ||
        HasGpuBelow(snapshot, bridge->address()))
      continue;
    const std::uint64_t capacity = BitsPerSecond(limit->megatransfers, limit->width);
    if (capacity >= shared.Rate()) continue;
    // Of links in a row, the one nearest to the root
    if (std::find(reported.begin(), reported.end(), shared.devices) != reported.end()) continue;
    reported.push_back(shared.devices);
    FailUpstream(node, *bridge, shared, capacity, out);
  }
  if (reported.empty()) out.Pass();
}

void JudgeUpstream(const fleet::NodeView& node, Verdicts& out) {
  if (AnyShared(node)) JudgeShared(node, out);
}

}  // namespace

extern const Rule pcie_bandwidth_covers_port = {
    .id = "pcie_bandwidth_covers_port",
    .title = "The PCIe slot of a NIC has at least the bandwidth of its port",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A 400 Gb/s port needs 16 lanes of 32 GT/s. In a slot with less, the port never reaches "
        "its rate, and as a receiver it pauses the fabric. The kernel logs this once, when the "
        "driver starts.",
    .source = "kernel drivers/pci/pci.c (pcie_bandwidth_available, __pcie_print_link_status)",
    .needs = {Input::kPciFunctions, Input::kRdmaPorts},
    .reads = {{.field = Field::kPciLink, .applies = IsOnPciLink}},
    .fix = "move the card to a slot with the bandwidth of the port",
    .evaluate_node = JudgeSlots,
};

extern const Rule pcie_upstream_covers_nics = {
    .id = "pcie_upstream_covers_nics",
    .title = "NICs behind one PCIe switch share a link with the bandwidth of all of them",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "Two NICs behind one switch share the link from the switch to the processor: half of the "
        "expected bandwidth, without a fault on either NIC. Only traffic to GPUs below the same "
        "switch is not affected.",
    .source = "PCI Express Base Specification; github.com/NVIDIA/nccl/issues/439",
    .needs = {Input::kPciFunctions, Input::kRdmaPorts},
    .fix = "move one of the cards to another root port",
    .evaluate_node = JudgeUpstream,
};

}  // namespace fabric::rules
