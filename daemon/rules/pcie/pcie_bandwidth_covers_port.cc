#include <algorithm>

#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

std::uint64_t RateOf(const PortView& port) {
  if (IsRoce(port) && port.netdev != nullptr && port.netdev->has_speed_bps())
    return port.netdev->speed_bps();
  return port.port->rate_bps();
}

struct Bandwidth {
  std::uint64_t bits_per_second = 0;
  std::string words;
  std::string source;
};

// What slot and card can at best: that a link trained below it is a fault of another rule. Virtual
// ports above a passed-through card claim less than the link has.
std::optional<Bandwidth> OfFunction(const v1::PciFunction& function) {
  const auto limit = CommonLimit(function);
  const std::uint64_t now = function.has_link() ? BitsPerSecond(function.link()) : 0;
  const std::uint64_t best = limit ? BitsPerSecond(limit->megatransfers, limit->width) : 0;
  if (best == 0 || now == 0) return {};
  const bool by_limit = best >= now;
  const std::uint32_t speed =
      by_limit ? limit->megatransfers : function.link().speed_megatransfers_per_second();
  const std::uint32_t width = by_limit ? limit->width : function.link().width();
  return Bandwidth{.bits_per_second = std::max(best, now),
                   .words = Format("{} x{}", ShowSpeed(speed), width),
                   .source = PciFile(function.address(), "max_link_width")};
}

// The same without words.
bool Covers(const v1::PciFunction& function, std::uint64_t rate) {
  if (BitsPerSecond(function.link()) >= rate) return true;
  const auto limit = CommonLimit(function);
  return limit && BitsPerSecond(limit->megatransfers, limit->width) >= rate;
}

// "mlx5_core 0000:5e:00.0: 252.056 Gb/s available PCIe bandwidth, limited by 32.0 GT/s PCIe x8
// link ...": where the files of the link were not captured.
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

void Fail(const PortView& port, const Bandwidth& bandwidth, std::uint64_t rate, Verdicts& out) {
  const std::string seen =
      Format("{} ({})", ShowGigabits(bandwidth.bits_per_second), bandwidth.words);
  out.Fail(port.Subject(),
           Format("PCIe slot gives {}, expected the port's {}", seen, ShowGigabits(rate)),
           {ToEvidence(*port.node, {.what = "PCIe bandwidth of slot and card",
                                    .expected = "at least " + ShowGigabits(rate),
                                    .seen = seen,
                                    .source = bandwidth.source,
                                    .basis = "rate of the port"})},
           {ToRemedy({.command = "lspci -tv",
                      .note = "Move the card to a slot with more lanes or a newer generation, or "
                              "have the BIOS give the slot all its lanes (bifurcation)."})});
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
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
    const auto bandwidth = function->has_link() ? OfFunction(*function) : OfLog(port);
    if (!bandwidth) continue;
    if (bandwidth->bits_per_second >= rate)
      out.Pass();
    else
      Fail(port, *bandwidth, rate, out);
  }
}

}  // namespace

extern const Rule pcie_bandwidth_covers_port = {
    .id = "pcie_bandwidth_covers_port",
    .title = "The PCIe slot of a NIC carries as much as its port",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A 400 Gb/s port needs 16 lanes of 32 GT/s: in a slot with less the port can never be "
        "filled, and as a receiver it pauses the fabric. The kernel says so once, when the "
        "driver starts.",
    .source = "kernel drivers/pci/pci.c (pcie_bandwidth_available, __pcie_print_link_status)",
    .needs = {Input::kPciFunctions, Input::kRdmaPorts},
    .fix = "move the card to a slot that carries the port's rate",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
