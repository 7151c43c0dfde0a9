#include "subnet/mad/attributes.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/text.h"
#include "base/utf8.h"
#include "subnet/mad/bytes.h"

namespace fabric::subnet {
namespace {

constexpr CounterField kCounterFields[kCounters] = {
    {Counter::kSymbolErrors, "SymbolErrorCounter", 32, 16},
    {Counter::kLinkErrorRecovery, "LinkErrorRecoveryCounter", 48, 8},
    {Counter::kLinkDowned, "LinkDownedCounter", 56, 8},
    {Counter::kReceiveErrors, "PortRcvErrors", 64, 16},
    {Counter::kReceiveRemotePhysicalErrors, "PortRcvRemotePhysicalErrors", 80, 16},
    {Counter::kReceiveSwitchRelayErrors, "PortRcvSwitchRelayErrors", 96, 16},
    {Counter::kTransmitDiscards, "PortXmitDiscards", 112, 16},
    {Counter::kTransmitConstraintErrors, "PortXmitConstraintErrors", 128, 8},
    {Counter::kReceiveConstraintErrors, "PortRcvConstraintErrors", 136, 8},
    {Counter::kLocalLinkIntegrityErrors, "LocalLinkIntegrityErrors", 152, 4},
    {Counter::kExcessiveBufferOverrunErrors, "ExcessiveBufferOverrunErrors", 156, 4},
    {Counter::kVl15Dropped, "VL15Dropped", 176, 16},
    {Counter::kTransmitWait, "PortXmitWait", 320, 32},
};

bool IsWhole(Bytes data) {
  return data.size() >= kMadDataBytes;
}

NodeType TypeOf(std::uint8_t value) {
  switch (value) {
    case 1: return NodeType::kAdapter;
    case 2: return NodeType::kSwitch;
    case 3: return NodeType::kRouter;
    default: return NodeType::kUnknown;
  }
}

// The widest of a set of widths.
std::uint8_t LanesOf(std::uint8_t widths) {
  if ((widths & 8) != 0) return 12;
  if ((widths & 4) != 0) return 8;
  if ((widths & 2) != 0) return 4;
  if ((widths & 16) != 0) return 2;
  return (widths & 1) != 0 ? 1 : 0;
}

// The fastest of three sets of speeds.
Speed SpeedOf(std::uint8_t speeds, std::uint8_t extended, bool xdr) {
  if (xdr) return Speed::kXdr;
  if ((extended & 8) != 0) return Speed::kNdr;
  if ((extended & 4) != 0) return Speed::kHdr;
  if ((extended & 2) != 0) return Speed::kEdr;
  if ((extended & 1) != 0) return Speed::kFdr;
  if ((speeds & 4) != 0) return Speed::kQdr;
  if ((speeds & 2) != 0) return Speed::kDdr;
  return (speeds & 1) != 0 ? Speed::kSdr : Speed::kUnknown;
}

LinkState StateOf(std::uint8_t value) {
  switch (value) {
    case 1: return LinkState::kDown;
    case 2: return LinkState::kInit;
    case 3: return LinkState::kArmed;
    case 4: return LinkState::kActive;
    default: return LinkState::kUnknown;
  }
}

std::uint64_t ReadCounter(Bytes port_counters, const CounterField& field) {
  const std::size_t at = field.bit / 8;
  if (field.bits == 32) return Load<std::uint32_t>(port_counters, at);
  if (field.bits == 16) return Load<std::uint16_t>(port_counters, at);
  if (field.bits == 8) return port_counters[at];
  const std::uint8_t both = port_counters[at];
  return field.bit % 8 == 0 ? both >> 4 : both & 0x0f;
}

std::uint16_t MtuOf(std::uint8_t code) {
  return code >= 1 && code <= 5 ? static_cast<std::uint16_t>(128U << code) : std::uint16_t{0};
}

}  // namespace

std::optional<NodeInfo> ReadNodeInfo(Bytes data) {
  if (!IsWhole(data)) return std::nullopt;
  return NodeInfo{.type = TypeOf(data[2]),
                  .ports = data[3],
                  .system_guid = Load<std::uint64_t>(data, 4),
                  .guid = Load<std::uint64_t>(data, 12),
                  .port_guid = Load<std::uint64_t>(data, 20),
                  .p_keys = Load<std::uint16_t>(data, 28),
                  .device_id = Load<std::uint16_t>(data, 30),
                  .revision = Load<std::uint32_t>(data, 32),
                  .local_port = data[36],
                  .vendor_id = Load<std::uint32_t>(data, 36) & 0xffffff};
}

std::string ReadNodeDescription(Bytes data) {
  std::string_view rest(reinterpret_cast<const char*>(data.data()), data.size());
  rest = rest.substr(0, rest.find('\0'));
  std::string text;
  while (!rest.empty()) {
    const Rune rune = FirstRune(rest);
    if (rune.valid && rune.code >= ' ' && rune.code != 0x7f)
      text += rest.substr(0, rune.bytes);
    else
      text += '?';
    rest.remove_prefix(rune.bytes);
  }
  return text;
}

std::optional<SwitchInfo> ReadSwitchInfo(Bytes data) {
  if (!IsWhole(data)) return std::nullopt;
  return SwitchInfo{.lid_top = Load<std::uint16_t>(data, 6),
                    .state_changed = (data[11] & 0x04) != 0,
                    .p_keys = Load<std::uint16_t>(data, 14)};
}

std::optional<PortInfo> ReadPortInfo(Bytes data) {
  constexpr std::uint32_t kIsManager = 0x2;
  constexpr std::uint32_t kHasExtendedSpeeds = 0x4000;
  if (!IsWhole(data)) return std::nullopt;
  const auto capabilities = Load<std::uint32_t>(data, 20);
  const bool extended = (capabilities & kHasExtendedSpeeds) != 0;
  const auto extended_active = static_cast<std::uint8_t>(extended ? data[62] >> 4 : 0);
  const auto extended_enabled = static_cast<std::uint8_t>(extended ? data[63] & 0x1f : 0);
  // LinkSpeedExtActive2 and LinkSpeedExtEnabled2 have 3 bits each, at both ends of byte 56; 1 is
  // XDR, 6 and 7 mean "none". An active speed is also enabled.
  const auto one = static_cast<std::uint8_t>(extended ? data[56] >> 5 : 0);
  const auto other = static_cast<std::uint8_t>(extended ? data[56] & 0x07 : 0);
  const bool xdr_one = one < 6 && (one & 1) != 0;
  const bool xdr_other = other < 6 && (other & 1) != 0;
  const bool xdr_active = xdr_one && xdr_other;
  const bool xdr_enabled = xdr_one || xdr_other;
  const auto speed_active = static_cast<std::uint8_t>(data[35] >> 4);
  const auto speed_enabled = static_cast<std::uint8_t>(data[35] & 0x0f);
  return PortInfo{
      .lid = Load<std::uint16_t>(data, 16),
      .manager_lid = Load<std::uint16_t>(data, 18),
      .runs_manager = (capabilities & kIsManager) != 0,
      .state = StateOf(static_cast<std::uint8_t>(data[32] & 0x0f)),
      .physical_state = static_cast<std::uint8_t>(data[33] >> 4),
      .active = {LanesOf(data[31]), SpeedOf(speed_active, extended_active, xdr_active)},
      // 30 and 31 mean "no extended speed".
      .enabled = {LanesOf(data[29]),
                  SpeedOf(speed_enabled,
                          extended_enabled >= 30 ? std::uint8_t{0} : extended_enabled,
                          xdr_enabled)},
      .lmc = static_cast<std::uint8_t>(data[34] & 0x07),
      .mtu = MtuOf(static_cast<std::uint8_t>(data[36] >> 4)),
      .mtu_capability = MtuOf(static_cast<std::uint8_t>(data[41] & 0x0f)),
      .lanes = static_cast<std::uint8_t>((data[43] >> 4) == 0   ? 0
                                         : (data[43] >> 4) == 5 ? 15
                                                                : 1 << ((data[43] >> 4) - 1)),
      .enforces_in = (data[43] & 0x08) != 0,
      .enforces_out = (data[43] & 0x04) != 0,
      .arbitration_low = data[40],
      .arbitration_high = data[39]};
}

std::vector<std::uint16_t> ReadPKeys(Bytes data) {
  std::vector<std::uint16_t> keys;
  for (std::size_t at = 0; at + 2 <= data.size(); at += 2)
    if (const auto key = Load<std::uint16_t>(data, at); key != 0) keys.push_back(key);
  return keys;
}

std::optional<LaneOfLevel> ReadSlToVl(Bytes data) {
  if (data.size() < kSlToVlBytes) return std::nullopt;
  LaneOfLevel lanes;
  for (std::size_t level = 0; level < lanes.size(); ++level)
    lanes[level] =
        static_cast<std::uint8_t>(level % 2 == 0 ? data[level / 2] >> 4 : data[level / 2] & 0x0f);
  return lanes;
}

std::vector<ArbitrationEntry> ReadArbitration(Bytes data) {
  std::vector<ArbitrationEntry> entries;
  for (std::size_t at = 0; at + 2 <= data.size(); at += 2)
    entries.push_back({static_cast<std::uint8_t>(data[at] & 0x0f), data[at + 1]});
  return entries;
}

std::optional<ManagerInfo> ReadManagerInfo(Bytes data) {
  if (!IsWhole(data)) return std::nullopt;
  return ManagerInfo{.port_guid = Load<std::uint64_t>(data, 0),
                     .activity = Load<std::uint32_t>(data, 16),
                     .priority = static_cast<std::uint8_t>(data[20] >> 4),
                     .state = static_cast<std::uint8_t>(data[20] & 0x0f)};
}

std::span<const CounterField, kCounters> CounterFields() {
  return kCounterFields;
}

std::optional<CounterValues> ReadCounters(Bytes port_counters, Bytes wide_counters) {
  const bool wide = wide_counters.size() >= kWideCountersBytes;
  if (!wide && !IsWhole(port_counters)) return std::nullopt;
  CounterValues values{};
  for (const CounterField& field : CounterFields()) {
    const auto index = static_cast<std::size_t>(field.counter);
    values[index] =
        wide ? Load<std::uint64_t>(wide_counters, index * 8) : ReadCounter(port_counters, field);
  }
  return values;
}

bool HasWideCounters(Bytes class_port_info) {
  constexpr std::uint32_t kAdditionalExtended = 0x2;  // Of CapabilityMask2
  return IsWhole(class_port_info) &&
         (Load<std::uint32_t>(class_port_info, 4) >> 5 & kAdditionalExtended) != 0;
}

std::optional<std::uint8_t> ReadTick(Bytes data) {
  if (!IsWhole(data)) return std::nullopt;
  return data[2];
}

std::optional<FecCounters> ReadFecCounters(Bytes more) {
  constexpr std::size_t kUncorrectableAt = 144 - kMadDataBytes;
  constexpr std::size_t kSymbolsAt = 148 - kMadDataBytes;
  if (more.size() < kMoreDataBytes) return std::nullopt;
  return FecCounters{.corrected_symbols = Load<std::uint32_t>(more, kSymbolsAt),
                     .uncorrectable_blocks = Load<std::uint32_t>(more, kUncorrectableAt)};
}

bool HasFecCounters(Bytes class_port_info) {
  constexpr std::uint16_t kFecCounters = 1 << 14;  // Of CapabilityMask
  return IsWhole(class_port_info) && (Load<std::uint16_t>(class_port_info, 2) & kFecCounters) != 0;
}

std::optional<Firmware> ReadFirmware(Bytes data) {
  constexpr std::size_t kBoardAt = 16;
  constexpr std::size_t kBoardBytes = 16;
  constexpr std::size_t kVersionAt = 36;  // Three numbers of 32 bits; 0 on old devices
  if (!IsWhole(data)) return std::nullopt;
  std::uint32_t numbers[] = {Load<std::uint32_t>(data, kVersionAt),
                             Load<std::uint32_t>(data, kVersionAt + 4),
                             Load<std::uint32_t>(data, kVersionAt + 8)};
  if (numbers[0] == 0) std::copy_n(data.begin() + 1, std::size(numbers), numbers);
  if (numbers[0] == 0) return std::nullopt;
  return Firmware{.version = Format("{}.{}.{}", numbers[0], numbers[1], numbers[2]),
                  .board = ReadNodeDescription(data.subspan(kBoardAt, kBoardBytes))};
}

}  // namespace fabric::subnet
