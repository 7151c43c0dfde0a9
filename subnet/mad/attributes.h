// Fields of the attributes that devices answer. Each reader takes the 64 data bytes; shorter ones
// yield nothing. Offsets: InfiniBand Architecture Specification volume 1, chapters 14 and 16. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "subnet/mad/mad.h"
#include "subnet/model.h"

namespace fabric::subnet {

using Bytes = std::span<const std::uint8_t>;
inline Bytes BytesOf(std::string_view attribute) {
  return {reinterpret_cast<const std::uint8_t*>(attribute.data()), attribute.size()};
}

struct NodeInfo {
  NodeType type = NodeType::kUnknown;
  std::uint8_t ports = 0;
  std::uint64_t system_guid = 0;
  std::uint64_t guid = 0;
  std::uint64_t port_guid = 0;
  std::uint16_t p_keys = 0;  // Size of the table
  std::uint16_t device_id = 0;
  std::uint32_t revision = 0;
  std::uint8_t local_port = 0;  // By which the request arrived
  std::uint32_t vendor_id = 0;
};
std::optional<NodeInfo> ReadNodeInfo(Bytes data);

// Text until the first NUL. Bytes that are not UTF-8 become '?'.
std::string ReadNodeDescription(Bytes data);

struct SwitchInfo {
  std::uint16_t lid_top = 0;   // Highest LID of the forwarding table
  bool state_changed = false;  // PortStateChange
  std::uint16_t p_keys = 0;    // Size of the table of each port that enforces partitions
};
std::optional<SwitchInfo> ReadSwitchInfo(Bytes data);

struct PortInfo {
  std::uint16_t lid = 0;
  std::uint16_t manager_lid = 0;
  bool runs_manager = false;
  LinkState state = LinkState::kUnknown;
  std::uint8_t physical_state = 0;
  Rate active;
  Rate enabled;
  std::uint8_t lmc = 0;
  std::uint16_t mtu = 0;  // Of the link, in bytes; 0: invalid
  std::uint16_t mtu_capability = 0;
  std::uint8_t lanes = 0;    // Operational data virtual lanes
  bool enforces_in = false;  // Partitions
  bool enforces_out = false;
  std::uint8_t arbitration_low = 0;  // Entries of the VL arbitration tables
  std::uint8_t arbitration_high = 0;

  bool LinkUp() const { return physical_state == 5 && state >= LinkState::kInit; }
};
std::optional<PortInfo> ReadPortInfo(Bytes data);

std::vector<std::uint16_t> ReadPKeys(Bytes data);  // Entries that are not 0

// Virtual lane of each service level. Takes at least the first kSlToVlBytes of SLtoVLMappingTable.
inline constexpr std::size_t kSlToVlBytes = 8;
std::optional<LaneOfLevel> ReadSlToVl(Bytes data);

// Entries of VLArbitrationTable: virtual lane and weight.
inline constexpr std::size_t kArbitrationEntries = 32;  // Of one attribute
struct ArbitrationEntry {
  std::uint8_t lane = 0;
  std::uint8_t weight = 0;
};
std::vector<ArbitrationEntry> ReadArbitration(Bytes data);

struct ManagerInfo {
  std::uint64_t port_guid = 0;
  std::uint32_t activity = 0;
  std::uint8_t priority = 0;
  std::uint8_t state = 0;
};
std::optional<ManagerInfo> ReadManagerInfo(Bytes data);

// Counters of the attribute PortCounters. They stop at their maximum. PortCountersExtended has them
// with 64 bits, in this order.
enum class Counter : std::uint8_t {
  kSymbolErrors,
  kLinkErrorRecovery,
  kLinkDowned,
  kReceiveErrors,
  kReceiveRemotePhysicalErrors,
  kReceiveSwitchRelayErrors,
  kTransmitDiscards,
  kTransmitConstraintErrors,
  kReceiveConstraintErrors,
  kLocalLinkIntegrityErrors,
  kExcessiveBufferOverrunErrors,
  kVl15Dropped,
  kTransmitWait,  // Not an error: ticks in which a port had data and could not send
};
struct CounterField {
  Counter counter;
  std::string_view name;  // "SymbolErrorCounter"
  std::uint16_t bit;      // Offset in the attribute
  std::uint8_t bits;      // Width

  std::uint64_t Max() const { return (std::uint64_t{1} << bits) - 1; }
};
std::span<const CounterField, kCounters> CounterFields();
// The wide counters are those of PortCountersExtended from byte kWideCountersAt on; if they are
// empty, the counters of `port_counters` count. Empty if the attribute is not complete.
inline constexpr std::size_t kWideCountersAt = 72;
inline constexpr std::size_t kWideCountersBytes = kCounters * 8;
std::optional<CounterValues> ReadCounters(Bytes port_counters, Bytes wide_counters);

// Bytes of PortCounters with counters of data and packets, except PortXmitWait.
inline constexpr std::size_t kTrafficCountersAt = 24;
inline constexpr std::size_t kTrafficCountersBytes = 16;

// Whether ClassPortInfo of the performance class announces error counters of 64 bits.
bool HasWideCounters(Bytes class_port_info);
// Tick of PortSamplesControl.
std::optional<std::uint8_t> ReadTick(Bytes data);

// Counters of PortExtendedSpeedsCounters for a port with RS-FEC. `more`: the bytes after the 64
// data bytes. Source: libibmad, fields.c.
std::optional<FecCounters> ReadFecCounters(Bytes more);
// Whether ClassPortInfo of the performance class announces them.
bool HasFecCounters(Bytes class_port_info);

// Firmware in the attribute GeneralInfo of NVIDIA. Source: infiniband-diags, vendstat.c.
struct Firmware {
  std::string version;  // "27.2012.1010"
  std::string board;    // PSID: "MT_0000000063"; may be empty
};
// Empty if the version is 0.
std::optional<Firmware> ReadFirmware(Bytes data);

}  // namespace fabric::subnet
