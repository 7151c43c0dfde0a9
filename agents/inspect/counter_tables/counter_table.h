// Which counter of which driver is what: one table per driver below counter_tables/, and one of the
// registers that InfiniBand defines for all.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "agents/inspect/counter_tables/counter_names.h"
#include "base/status.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

constexpr auto kHw = v1::COUNTER_SOURCE_HW;
constexpr auto kEthtool = v1::COUNTER_SOURCE_ETHTOOL;
constexpr auto kDcb = v1::COUNTER_SOURCE_DCB;

// One counter of a driver. Rows of one neutral name stand in the order of preference: of those that
// a port or netdev has, the first bears the name.
struct CounterRow {
  v1::CounterSource source;
  std::string_view name;          // As the driver spells it; '#' is the digit of a priority.
  std::string_view neutral = {};  // In AllNeutralCounters(); empty: the driver's own business.
  std::string_view note = {};     // What a reader must know: how it differs from others so named.
  std::string_view unit = {};     // Of counters without a neutral name
};

// A counter that no driver has as such: made of two, when both are there.
struct CounterSum {
  v1::CounterSource source;
  std::string_view first;
  std::string_view second;
  std::string_view neutral;
};

// What is known of one driver's counters. Everything else it has keeps its name and no more.
struct CounterTable {
  std::string_view name;                      // "mlx5"
  std::string_view title;                     // For the reference: devices, and files of the kernel
  std::span<const std::string_view> drivers;  // Of the PCI function, the netdev or software
  std::string_view device_prefix;             // Of RDMA devices, as the kernel names them: "mlx5_"
  bool port_counters = false;                 // Answers performance management: ports/N/counters
  bool hw_counters = true;                    // Has ports/N/hw_counters
  std::uint32_t hw_width_bits = 64;  // Of hardware counters, which wrap there; see wide_hw.
  std::span<const std::string_view> wide_hw = {};  // Hardware counters of 64 bits among narrow ones
  std::span<const CounterRow> rows = {};
  std::span<const CounterSum> sums = {};
};

std::span<const CounterTable* const> AllCounterTables();  // Generated; see CMakeLists.txt.

// By the driver, else by the kernel's name for the device; nullptr when neither is known.
const CounterTable* CountersOf(const v1::RdmaDevice& device);
// By the driver, else by that of the RDMA device whose port has the netdev.
const CounterTable* CountersOf(const v1::NodeSnapshot& snapshot, const v1::NetInterface& netdev);

// The row of a counter; nullptr for one that is in none. `table` may be nullptr.
const CounterRow* FindCounterRow(const CounterTable* table, v1::CounterSource source,
                                 std::string_view name);

// Sets neutral names, units and widths of all counters of one port or netdev, each neutral name
// once, and adds the sums, whose names are those of their parts with '+' between them. `table` may
// be nullptr. May be called again after more has been added.
void NameCounters(const CounterTable* table, v1::CounterSet& set);

// A register of PortCounters and PortCountersExtended of InfiniBand, as a file of ports/N/counters
// or, before Linux 4.5, ports/N/counters_ext.
struct PortRegister {
  std::string_view name;
  std::string_view neutral;
  std::uint32_t width_bits;  // Below 64 it stops at its maximum.
  std::uint64_t factor;      // Units in one count of the register
};

std::span<const PortRegister> AllPortRegisters();

// The row of that name; nullptr for a counter of a later kernel.
const PortRegister* FindPortRegister(std::string_view name);

// One such file as a counter, without its neutral name. DATA_LOSS for a value that no register can
// hold, UNIMPLEMENTED for "N/A (no PMA)".
Result<v1::Counter> ParsePortCounter(std::string_view name, std::string_view text);

}  // namespace fabric::inspect
