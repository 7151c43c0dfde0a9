#include "daemon/rules/counters/link_errors.h"

#include <algorithm>

#include "daemon/rules/links/links.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

struct Limit {
  Count count = {};
  std::uint64_t per_hour = 0;
  bool on_ethernet = false;
};

// 120 symbol errors an hour is a bit error rate of 1e-12, the limit of the InfiniBand specification
// (10 within five minutes). The others are the thresholds of infiniband-diags
// (etc/error_thresholds), applied to one hour. The same limits apply to frames lost on Ethernet:
// with FEC even that number indicates a bad link. IEEE 802.3 permits a frame loss ratio of 6.2e-10
// up to 100 Gb/s (clause 91) and 6.2e-11 above: fewer than 60 blocks an hour at every rate.
constexpr Limit kLimits[] = {
    {.count = Count::kSymbolErrors, .per_hour = 120, .on_ethernet = true},
    {.count = Count::kFcsErrors, .per_hour = 120, .on_ethernet = true},
    {.count = Count::kFecUncorrectableBlocks, .per_hour = 60, .on_ethernet = true},
    {.count = Count::kLinkRecoveries, .per_hour = 10},
    {.count = Count::kReceiveErrors, .per_hour = 120},
    {.count = Count::kIntegrityErrors, .per_hour = 10},
    {.count = Count::kBufferOverruns, .per_hour = 10},
    {.count = Count::kReceiveConstraintErrors, .per_hour = 100},
    {.count = Count::kTransmitConstraintErrors, .per_hour = 100},
};

constexpr std::uint64_t BitsOfLimits() {
  std::uint64_t bits = 0;
  for (const Limit& limit : kLimits) bits |= fleet::BitOf(limit.count);
  return bits;
}
static_assert(fleet::WordOf(Count::kTransmitConstraintErrors) == 0);

// Azure's health checks take a node out after five flaps within a day.
constexpr std::uint64_t kFlapsMin = 2;
constexpr double kFlapsPerDay = 5;

bool HasFlapped(const PortView& port) {
  return fleet::Has(port.link_activity.grown, Count::kLinkDowns);
}

// By the profile: a number, else a bit error ratio after correction.
std::uint64_t LimitFor(const Limit& limit, const PortView& port, bool& of_profile) {
  const v1::Expectations& expected = port.expected();
  of_profile = false;
  if (limit.count != Count::kSymbolErrors) return limit.per_hour;
  const auto rate_bps = expected.has_ber_max() ? LinkRate(port) : std::nullopt;
  of_profile = expected.has_symbol_errors_max_per_hour() || rate_bps;
  if (expected.has_symbol_errors_max_per_hour()) return expected.symbol_errors_max_per_hour();
  if (!rate_bps) return limit.per_hour;
  return static_cast<std::uint64_t>(expected.ber_max() * static_cast<double>(*rate_bps) * 3600);
}

}  // namespace

std::vector<LinkError> LinkErrors(const PortView& port) {
  std::vector<LinkError> errors;
  if ((port.link_activity.grown[0] & BitsOfLimits()) == 0) return errors;
  const bool ethernet = port.port->link_layer() == v1::LINK_LAYER_ETHERNET;
  for (const Limit& limit : kLimits) {
    if (ethernet && !limit.on_ethernet) continue;
    const auto increase = LinkIncreaseOf(port, limit.count);
    if (!increase || increase->delta == 0) continue;
    bool of_profile = false;
    const std::uint64_t allowed = LimitFor(limit, port, of_profile);
    if (PerHour(*increase) > allowed)
      errors.push_back({.count = limit.count,
                        .increase = *increase,
                        .limit_per_hour = allowed,
                        .of_profile = of_profile});
  }
  if (!errors.empty() && HasFlapped(port)) errors.clear();
  return errors;
}

bool IsFlapping(const PortView& port) {
  const auto downs = LinkIncreaseOf(port, Count::kLinkDowns);
  if (!downs || downs->delta < kFlapsMin) return false;
  const double days = std::max(downs->seconds, 3600.0) / 86400;
  return static_cast<double>(downs->delta) >= kFlapsPerDay * days;
}

bool HasBadLink(const PortView& port) {
  return HasFlapped(port) || !LinkErrors(port).empty();
}

}  // namespace fabric::rules
