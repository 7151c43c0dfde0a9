// Bit errors before forward error correction, and alarms of pluggable modules.
#include "base/text.h"
#include "daemon/rules/counters/rates.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/links/links.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// Bit error ratios up to which the error correction keeps the frame loss ratio of IEEE 802.3:
// lanes of 25 Gb/s with RS-FEC(528,514) in clause 95, PAM4 lanes with RS-FEC(544,514) in clause
// 120. Without the number of lanes, the higher limit applies.
constexpr double kBerMaxNrz = 5e-5;
constexpr double kBerMaxPam4 = 2.4e-4;
constexpr std::uint64_t kNrzLaneMax = 30'000'000'000;

struct BerLimit {
  double ratio = kBerMaxPam4;
  std::string basis;
};

BerLimit BerLimitOf(const PortView& port, std::uint64_t rate_bps) {
  if (port.expected().has_raw_ber_max())
    return {.ratio = port.expected().raw_ber_max(), .basis = ProfileBasis(*port.expectation)};
  const std::uint32_t of_netdev = port.netdev != nullptr ? port.netdev->lanes() : 0;
  const std::uint32_t lanes = IsInfiniband(port) ? port.port->width() : of_netdev;
  if (lanes > 0 && rate_bps / lanes <= kNrzLaneMax)
    return {.ratio = kBerMaxNrz, .basis = "IEEE 802.3 clause 95, RS-FEC(528,514)"};
  return {.ratio = kBerMaxPam4, .basis = "IEEE 802.3 clause 120, RS-FEC(544,514)"};
}

// Of all bits that the link carries in that time, idle ones included.
double Ratio(const CounterIncrease& corrected, std::uint64_t rate_bps) {
  return static_cast<double>(corrected.delta) / (static_cast<double>(rate_bps) * corrected.seconds);
}

std::vector<v1::Remedy> OpticsRemedies(const PortView& port) {
  std::vector<v1::Remedy> remedies;
  if (!IsInfiniband(port))
    remedies.push_back(Query(
        {.command = Format("ethtool -m {}", WireName(port)),
         .note = "Compare the receive power with its limits. Clean and reseat the connector, "
                 "then replace the cable or module. Check the sender at the other end too."}));
  if (DriverOf(port).starts_with("mlx5") && port.device->has_pci_address())
    remedies.push_back(
        Query({.platform = "mlx5",
               .command = Format("mlxlink -d {} -p {} -c -m", port.device->pci_address(),
                                 port.port->number()),
               .note = "Shows raw and effective bit error ratios, and the module."}));
  if (remedies.empty())
    remedies.push_back(Advice("Clean and reseat the cable, then replace cable or module."));
  return remedies;
}

// 30 s are enough: at the limit there are millions of errors in that time.
void JudgeBer(const PortView& port, Verdicts& out) {
  const auto corrected = LinkIncreaseOf(port, Count::kFecCorrectedBits);
  const auto rate_bps = LinkRate(port);
  if (!corrected || !rate_bps || *rate_bps == 0) return;
  const auto recent = IncreaseOf(port, Count::kFecCorrectedBits).value_or(*corrected);
  const BerLimit limit = BerLimitOf(port, *rate_bps);
  const double ratio = Ratio(recent, *rate_bps);
  if (ratio <= limit.ratio) return out.Pass();
  const std::string expected = Format("at most {:.2g}", limit.ratio);
  const std::string seen = Format("{:.2g} in {}", ratio, ShowSeconds(recent.seconds));
  out.Fail(port.Subject(),
           Format("bit error ratio before correction {}, expected {}", seen, expected),
           {ToEvidence(port, {.title = {},
                              .expected = expected,
                              .seen = Format("{} bits corrected, ratio {}", recent.delta, seen),
                              .count = Count::kFecCorrectedBits,
                              .basis = limit.basis}),
            ToEvidence(port, {.title = {},
                              .expected = expected,
                              .seen = Format("{:.2g} in {}", Ratio(*corrected, *rate_bps),
                                             ShowSeconds(corrected->seconds)),
                              .count = Count::kFecCorrectedBits,
                              .basis = "trend: the same over a longer time"})},
           OpticsRemedies(port));
}

void EvaluateBer(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeBer(port, out); });
}

struct ModuleEvent {
  Count count = {};
  std::string_view what;
};
constexpr ModuleEvent kModuleEvents[] = {
    {.count = Count::kModuleHighTemperatures, .what = "was too hot"},
    {.count = Count::kModuleBusErrors, .what = "did not answer on its management bus"},
    {.count = Count::kModuleShorts, .what = "was shorted"},
};

void JudgeModule(const PortView& port, Verdicts& out) {
  bool known = false;
  for (const ModuleEvent& event : kModuleEvents) {
    const auto increase = LinkIncreaseOf(port, event.count);
    known = known || increase;
    if (!increase || increase->delta == 0) continue;
    const std::string seen =
        Format("{} times in {}", increase->delta, ShowSeconds(increase->seconds));
    return FailOnCounter(port,
                         {.title = Format("the module {} {}, expected never", event.what, seen),
                          .expected = "never",
                          .seen = seen,
                          .count = event.count},
                         OpticsRemedies(port), out);
  }
  if (known) out.Pass();
}

void EvaluateModules(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeModule(port, out); });
}

}  // namespace

extern const Rule raw_bit_errors_within_limit = {
    .id = "raw_bit_errors_within_limit",
    .title = "The bit error ratio before error correction is one that the correction can handle",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Links with PAM4 always have bit errors, and forward error correction removes them. Above "
        "the limit, blocks with too many errors become likely: packets are lost, and slightly "
        "more dirt or heat brings the link down. The ratio rises weeks before the first lost "
        "packet.",
    .source =
        "IEEE 802.3 clauses 95 and 120 (bit error ratio of the PMA with RS-FEC); kernel "
        "mlx5/core/en_stats.c (rx_corrected_bits_phy), ethtool FEC statistics",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kRawBerMaxFieldNumber},
    .reads = {{.field = Field::kFecCounters,
               .applies = IsHardwareLink,
               .profile = v1::Expectations::kRawBerMaxFieldNumber},
              {.field = Field::kLinkCounters, .applies = IsHardwareLink}},
    .fix = "Clean, reseat or replace cable and module",
    .evaluate_node = EvaluateBer,
};

extern const Rule module_reports_no_fault = {
    .id = "module_reports_no_fault",
    .title = "The pluggable module of a port in use is not too hot, shorted or silent",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "The card counts an event when the module reports a high temperature, is shorted, or does "
        "not answer. The link may still be up. A hot module has more bit errors and switches "
        "itself off.",
    .source =
        "kernel mlx5/core/en_stats.c (module_high_temp, module_bus_stuck, module_bad_shorted)",
    .needs = {Input::kCounters},
    .reads = {{.field = Field::kLinkCounters, .applies = IsHardwareLink}},
    .fix = "Cooling; reseat or replace the module",
    .evaluate_node = EvaluateModules,
};

}  // namespace fabric::rules
