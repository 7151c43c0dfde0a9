// Arbitrary EEPROMs of pluggable modules, and the netlink messages that carry them.
#include <algorithm>
#include <cmath>
#include <span>

#include "agents/host/netlink/ethtool_netlink.h"
#include "agents/inspect/parse/module_eeprom.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

namespace {

// Half pages in the order in which they are asked for.
fabric::Result<fabric::v1::Module> Parse(std::span<const std::uint8_t> bytes) {
  return fabric::inspect::ParseModule(
      [&](const fabric::inspect::EepromPlace&) -> fabric::Result<std::vector<std::uint8_t>> {
        const auto half = bytes.first(std::min(bytes.size(), fabric::inspect::kEepromHalfBytes));
        bytes = bytes.subspan(half.size());
        return std::vector<std::uint8_t>(half.begin(), half.end());
      });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto module = Parse({data, size});
  if (module.ok()) {
    Check(!module->kind().empty(), "a module has a kind");
    Check(module->lanes_size() <= 8, "at most eight lanes");
    Check(std::abs(module->temperature_celsius()) <= 128, "temperatures are words");
    for (const char c : module->vendor()) Check(c >= ' ' && c <= '~', "names are text");
    Check(!module->has_rx_power_limits() ||
              module->rx_power_limits().alarm_high() > module->rx_power_limits().alarm_low(),
          "limits are a range");
  }
  const auto datagram = std::as_bytes(std::span(data, size));
  constexpr int kFamily = 0x15;
  if (const auto counters = fabric::host::ParseFecStatistics(datagram, kFamily); counters.ok())
    Check(counters->size() <= size / 8, "counters come from the input");
  if (const auto bytes = fabric::host::ParseModuleEeprom(datagram, kFamily); bytes.ok())
    Check(bytes->size() <= size, "bytes come from the input");
  (void)fabric::host::ParseFamily(datagram).ok();
  return 0;
}
