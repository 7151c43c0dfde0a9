#include "agents/inspect/counter_tables/counter_table.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::uint64_t kWordBytes = 4;
constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();

// Sources: drivers/infiniband/core/sysfs.c; the specification's PortCounters for the widths. Where
// a port has both, the registers of 64 bits are preferred: those of counters_ext, as of old.
constexpr PortRegister kPortRegisters[] = {
    {"port_xmit_data_64", "rdma_tx_bytes", 64, kWordBytes},
    {"port_rcv_data_64", "rdma_rx_bytes", 64, kWordBytes},
    {"port_xmit_packets_64", "rdma_tx_packets", 64, 1},
    {"port_rcv_packets_64", "rdma_rx_packets", 64, 1},
    {"port_unicast_xmit_packets", "unicast_tx_packets", 64, 1},
    {"port_unicast_rcv_packets", "unicast_rx_packets", 64, 1},
    {"port_multicast_xmit_packets", "multicast_tx_packets", 64, 1},
    {"port_multicast_rcv_packets", "multicast_rx_packets", 64, 1},
    {"port_xmit_data", "rdma_tx_bytes", 64, kWordBytes},
    {"port_rcv_data", "rdma_rx_bytes", 64, kWordBytes},
    {"port_xmit_packets", "rdma_tx_packets", 64, 1},
    {"port_rcv_packets", "rdma_rx_packets", 64, 1},
    {"unicast_xmit_packets", "unicast_tx_packets", 64, 1},
    {"unicast_rcv_packets", "unicast_rx_packets", 64, 1},
    {"multicast_xmit_packets", "multicast_tx_packets", 64, 1},
    {"multicast_rcv_packets", "multicast_rx_packets", 64, 1},
    {"symbol_error", "symbol_errors", 16, 1},
    {"link_error_recovery", "link_error_recoveries", 8, 1},
    {"link_downed", "link_down_events", 8, 1},
    {"port_rcv_errors", "rx_errors", 16, 1},
    {"port_rcv_remote_physical_errors", "rx_remote_physical_errors", 16, 1},
    {"port_rcv_switch_relay_errors", "rx_switch_relay_errors", 16, 1},
    {"port_rcv_constraint_errors", "rx_constraint_errors", 8, 1},
    {"port_xmit_constraint_errors", "tx_constraint_errors", 8, 1},
    {"port_xmit_discards", "tx_discards", 16, 1},
    {"port_xmit_wait", "credit_wait", 32, 1},
    {"local_link_integrity_errors", "local_link_integrity_errors", 4, 1},
    {"excessive_buffer_overrun_errors", "buffer_overrun_errors", 4, 1},
    {"VL15_dropped", "vl15_drops", 16, 1},
};

// Of ethtool netlink, for all drivers. After the rows of their tables.
constexpr CounterRow kFecRows[] = {
    {kFec, "corrected_bits", "fec_corrected_bits"},
    {kFec, "corrected_blocks", "fec_corrected_blocks"},
    {kFec, "uncorrectable_blocks", "fec_uncorrectable_blocks"},
};
constexpr std::size_t kFecRank = 1 << 16;

std::uint64_t Max(std::uint32_t bits) {
  return bits >= 64 ? std::numeric_limits<std::uint64_t>::max() : (std::uint64_t{1} << bits) - 1;
}

bool Contains(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// ethtool says "mlx5_core[ib_ipoib]" of an IPoIB netdev.
const CounterTable* ByDriver(std::string_view driver) {
  driver = driver.substr(0, driver.find('['));
  if (driver.empty()) return nullptr;
  for (const CounterTable* table : AllCounterTables())
    if (Contains(table->drivers, driver)) return table;
  return nullptr;
}

// What the tables say of one counter; `rank` orders those of one neutral name.
struct Meaning {
  bool known = false;
  std::string_view neutral;
  std::string_view priority;
  std::string_view unit;
  std::size_t rank = 0;
};

std::string_view UnitOf(std::string_view neutral) {
  const auto found = FindNeutralCounter(neutral);
  return found ? found->counter->unit : std::string_view();
}

std::uint32_t WidthOf(const CounterTable& table, const v1::Counter& counter) {
  if (counter.source() != kHw || Contains(table.wide_hw, counter.name())) return 64;
  return table.hw_width_bits;
}

Meaning MeaningOf(const CounterTable* table, const v1::Counter& counter) {
  if (counter.source() == v1::COUNTER_SOURCE_PORT) {
    const PortRegister* const row = FindPortRegister(counter.name());
    if (row == nullptr) return {};
    return {.known = true,
            .neutral = row->neutral,
            .unit = UnitOf(row->neutral),
            .rank = static_cast<std::size_t>(row - kPortRegisters)};
  }
  for (const CounterRow& row : kFecRows)
    if (counter.source() == kFec && counter.name() == row.name)
      return {.known = true, .neutral = row.neutral, .unit = UnitOf(row.neutral), .rank = kFecRank};
  const CounterRow* const row = FindCounterRow(table, counter.source(), counter.name());
  if (row == nullptr) return {};
  return {.known = true,
          .neutral = row->neutral,
          .priority = *MatchPriority(row->name, counter.name()),
          .unit = row->neutral.empty() ? row->unit : UnitOf(row->neutral),
          // After all registers of InfiniBand.
          .rank = std::size(kPortRegisters) + static_cast<std::size_t>(row - table->rows.data())};
}

v1::Counter* Find(v1::CounterSet& set, v1::CounterSource source, std::string_view name) {
  for (v1::Counter& counter : *set.mutable_counters())
    if (counter.source() == source && counter.name() == name) return &counter;
  return nullptr;
}

void AddSum(const CounterSum& sum, v1::CounterSet& set) {
  const v1::Counter* const first = Find(set, sum.source, sum.first);
  const v1::Counter* const second = Find(set, sum.source, sum.second);
  if (first == nullptr || second == nullptr) return;
  const std::uint64_t value = first->value() + second->value();
  const std::string name = Format("{}+{}", sum.first, sum.second);
  v1::Counter* counter = Find(set, sum.source, name);
  if (counter == nullptr) counter = set.add_counters();
  counter->set_name(name);
  counter->set_source(sum.source);
  counter->set_value(value);
  counter->set_neutral(std::string(sum.neutral));
  counter->set_unit(std::string(UnitOf(sum.neutral)));
  counter->set_width_bits(64);
}

}  // namespace

const CounterTable* CountersOf(const v1::RdmaDevice& device) {
  if (const CounterTable* const table = ByDriver(device.driver())) return table;
  for (const CounterTable* table : AllCounterTables())
    if (!table->device_prefix.empty() && device.name().starts_with(table->device_prefix))
      return table;
  return nullptr;
}

const CounterTable* CountersOf(const v1::NodeSnapshot& snapshot, const v1::NetInterface& netdev) {
  if (const CounterTable* const table = ByDriver(netdev.driver())) return table;
  // One with a driver that no table knows, such as a bond, is not its port's.
  if (netdev.has_driver()) return nullptr;
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    for (const v1::Port& port : device.ports())
      if (port.netdev() == netdev.name()) return CountersOf(device);
  return nullptr;
}

const CounterRow* FindCounterRow(const CounterTable* table, v1::CounterSource source,
                                 std::string_view name) {
  if (table == nullptr) return nullptr;
  for (const CounterRow& row : table->rows)
    if (row.source == source && MatchPriority(row.name, name)) return &row;
  return nullptr;
}

void NameCounters(const CounterTable* table, v1::CounterSet& set) {
  std::map<std::string, std::pair<std::size_t, v1::Counter*>, std::less<>> best;
  for (v1::Counter& counter : *set.mutable_counters()) {
    const Meaning meaning = MeaningOf(table, counter);
    if (!meaning.known) continue;  // In no table, or a sum
    counter.set_unit(std::string(meaning.unit));
    if (counter.source() != v1::COUNTER_SOURCE_PORT && !IsGaugeUnit(meaning.unit))
      counter.set_width_bits(WidthOf(*table, counter));
    counter.clear_neutral();
    if (meaning.neutral.empty()) continue;
    std::string neutral(meaning.neutral);
    std::replace(neutral.begin(), neutral.end(), '#',
                 meaning.priority.empty() ? '#' : meaning.priority[0]);
    const auto [at, is_new] = best.try_emplace(std::move(neutral), meaning.rank, &counter);
    if (!is_new && meaning.rank < at->second.first) at->second = {meaning.rank, &counter};
  }
  for (auto& [neutral, chosen] : best) chosen.second->set_neutral(neutral);
  if (table == nullptr) return;
  for (const CounterSum& sum : table->sums)
    if (!best.contains(sum.neutral)) AddSum(sum, set);
}

std::span<const PortRegister> AllPortRegisters() {
  return kPortRegisters;
}

const PortRegister* FindPortRegister(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kPortRegisters), std::end(kPortRegisters),
                                         [&](const PortRegister& row) { return row.name == name; });
  return found == std::end(kPortRegisters) ? nullptr : found;
}

Result<v1::Counter> ParsePortCounter(std::string_view name, std::string_view text) {
  // Ports without a performance management agent; old kernels print this instead of failing.
  if (text.starts_with("N/A"))
    return Status(Code::kUnimplemented, "the port has no counters: " + Quoted(text));
  ASSIGN_OR_RETURN(const auto value, ParseNumber<std::uint64_t>(text));
  v1::Counter counter;
  counter.set_name(std::string(name));
  counter.set_source(v1::COUNTER_SOURCE_PORT);
  counter.set_value(value);
  const PortRegister* const row = FindPortRegister(name);
  if (row == nullptr) return counter;
  if (value > Max(64) / row->factor)
    return Status(Code::kDataLoss,
                  Format("expected at most {}, saw {}", Max(64) / row->factor, value));
  counter.set_value(value * row->factor);
  counter.set_unit(std::string(UnitOf(row->neutral)));
  // Wide ones have 32 bits where the device lacks the extended counters, and stop there too.
  const std::uint32_t width = row->width_bits == 64 && value == kMax32 ? 32 : row->width_bits;
  // Beyond the maximum: a driver that has wider registers.
  if (value <= Max(width)) counter.set_width_bits(width);
  counter.set_saturated(value == Max(width));
  return counter;
}

}  // namespace fabric::inspect
