// Counter tables: meaning of drivers' counters, one table per driver in this folder, and one for
// the registers that InfiniBand defines.
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
constexpr auto kFec = v1::COUNTER_SOURCE_FEC;  // The same names for all drivers

// One counter of a driver. Rows with the same neutral name are in order of preference: the first
// that a port or netdev has gets the name.
struct CounterRow {
  v1::CounterSource source;
  std::string_view name;          // The driver's name; '#' is the digit of a priority.
  std::string_view neutral = {};  // In AllNeutralCounters(); empty: specific to the driver
  std::string_view note = {};     // For the reference: differences from other drivers
  std::string_view unit = {};     // For counters without a neutral name
};

// A counter calculated as the sum of two, when both exist.
struct CounterSum {
  v1::CounterSource source;
  std::string_view first;
  std::string_view second;
  std::string_view neutral;
};

// Counters of one driver. Other counters keep the driver's name only.
struct CounterTable {
  std::string_view name;                      // "mlx5"
  std::string_view title;                     // For the reference: devices, and kernel files
  std::span<const std::string_view> drivers;  // Of the PCI function, the netdev or software device
  std::string_view device_prefix;             // Prefix of RDMA device names: "mlx5_"
  bool port_counters = false;                 // Has performance management: ports/N/counters
  bool hw_counters = true;                    // Has ports/N/hw_counters
  std::uint32_t hw_width_bits = 64;  // Width of hardware counters, which wrap; see wide_hw.
  std::span<const std::string_view> wide_hw =
      {};  // 64-bit hardware counters of a driver with narrow ones
  std::span<const CounterRow> rows = {};
  std::span<const CounterSum> sums = {};
};

std::span<const CounterTable* const> AllCounterTables();  // Generated; see CMakeLists.txt.

// By driver, else by device name; nullptr when both are unknown.
const CounterTable* CountersOf(const v1::RdmaDevice& device);
// By driver, else by the driver of the RDMA device with that netdev.
const CounterTable* CountersOf(const v1::NodeSnapshot& snapshot, const v1::NetInterface& netdev);

// The row of a counter; nullptr without one. `table` may be nullptr.
const CounterRow* FindCounterRow(const CounterTable* table, v1::CounterSource source,
                                 std::string_view name);

// Sets neutral names, units and widths of all counters of one port or netdev, each neutral name
// once, and adds the sums, named by their parts with '+'. `table` may be nullptr. Can be called
// again after counters were added.
void NameCounters(const CounterTable* table, v1::CounterSet& set);

// A register of InfiniBand PortCounters or PortCountersExtended: a file of ports/N/counters or,
// before Linux 4.5, ports/N/counters_ext.
struct PortRegister {
  std::string_view name;
  std::string_view neutral;
  std::uint32_t width_bits;  // Registers below 64 bits saturate.
  std::uint64_t factor;      // Units in one count of the register
};

std::span<const PortRegister> AllPortRegisters();

// nullptr for a counter of a later kernel.
const PortRegister* FindPortRegister(std::string_view name);

// Parser of such a file, without neutral name. DATA_LOSS for a value beyond the register,
// UNIMPLEMENTED for "N/A (no PMA)".
Result<v1::Counter> ParsePortCounter(std::string_view name, std::string_view text);

}  // namespace fabric::inspect
