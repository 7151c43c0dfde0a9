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
  std::uint8_t lanes = 0;    // Operational data lanes
  bool enforces_in = false;  // Partitions
  bool enforces_out = false;

  bool LinkUp() const { return physical_state == 5 && state >= LinkState::kInit; }
};
std::optional<PortInfo> ReadPortInfo(Bytes data);

std::vector<std::uint16_t> ReadPKeys(Bytes data);  // Entries that are not 0

struct ManagerInfo {
  std::uint64_t port_guid = 0;
  std::uint32_t activity = 0;
  std::uint8_t priority = 0;
  std::uint8_t state = 0;
};
std::optional<ManagerInfo> ReadManagerInfo(Bytes data);

// Counters of the attribute PortCounters. They stop at their maximum.
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
};
struct CounterField {
  Counter counter;
  std::string_view name;  // "SymbolErrorCounter"
  std::uint8_t bit;       // Offset in the attribute
  std::uint8_t bits;      // Width

  std::uint32_t Max() const { return (1U << bits) - 1; }
};
std::span<const CounterField, kCounters> CounterFields();
// Empty if the attribute is not complete.
std::optional<std::uint32_t> ReadCounter(Bytes port_counters, const CounterField& field);

inline constexpr std::uint16_t kExtendedCounters = 0x0200;  // Of the capabilities
// Capabilities of ClassPortInfo.
std::optional<std::uint16_t> ReadCapabilities(Bytes data);

}  // namespace fabric::subnet
