#include "agents/inspect/parse/module_eeprom.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::uint8_t kDiagnosticsAddress = 0x51;  // Of SFF-8472

enum class Standard : std::uint8_t { kSff8472, kSff8636, kCmis };

struct Identifier {
  std::uint8_t code;  // SFF-8024, table 4-1
  const char* name;
  Standard standard;
};
constexpr Identifier kIdentifiers[] = {
    {0x03, "SFP", Standard::kSff8472},    {0x0c, "QSFP", Standard::kSff8636},
    {0x0d, "QSFP+", Standard::kSff8636},  {0x11, "QSFP28", Standard::kSff8636},
    {0x18, "QSFP-DD", Standard::kCmis},   {0x19, "OSFP", Standard::kCmis},
    {0x1a, "SFP-DD", Standard::kCmis},    {0x1b, "DSFP", Standard::kCmis},
    {0x1e, "QSFP+ CMIS", Standard::kCmis}};

// A half page; bytes by their address in the page.
class Half {
 public:
  Half(std::vector<std::uint8_t> bytes, std::size_t offset)
      : bytes_(std::move(bytes)), offset_(offset) {}

  std::uint8_t Byte(std::size_t address) const { return bytes_[address - offset_]; }
  std::uint16_t Word(std::size_t address) const {
    return static_cast<std::uint16_t>(Byte(address) << 8 | Byte(address + 1));
  }
  double Signed(std::size_t address) const { return static_cast<std::int16_t>(Word(address)); }
  // Padded with blanks; empty when it is not text.
  std::string Text(std::size_t address, std::size_t size) const {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(Byte(address + i));
    text.resize(std::min(text.size(), text.find('\0')));
    const bool printable =
        std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
    return printable ? std::string(Trim(text)) : std::string();
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t offset_;
};

Result<Half> ReadHalf(const ReadEeprom& read, const EepromPlace& place) {
  ASSIGN_OR_RETURN(std::vector<std::uint8_t> bytes, read(place));
  if (bytes.size() < kEepromHalfBytes)
    return Status(Code::kDataLoss, Format("page {:02x}h of the module: expected {} bytes, saw {}",
                                          place.page, kEepromHalfBytes, bytes.size()));
  return Half(std::move(bytes), place.offset);
}

constexpr double kDegree = 1.0 / 256;  // Of a signed word
constexpr double kVolt = 1e-4;         // 100 microvolts
constexpr double kMilliwatt = 1e-4;    // 0.1 microwatts
constexpr double kMilliampere = 2e-3;  // 2 microamperes

// Where the texts of a module are.
struct IdentityPlaces {
  std::size_t vendor, part, revision, revision_size, serial;
};

void SetIdentity(const Half& half, const IdentityPlaces& at, v1::Module& module) {
  const auto set = [&](std::size_t address, std::size_t size, auto setter) {
    if (std::string text = half.Text(address, size); !text.empty()) setter(std::move(text));
  };
  set(at.vendor, 16, [&](std::string text) { module.set_vendor(std::move(text)); });
  set(at.part, 16, [&](std::string text) { module.set_part_number(std::move(text)); });
  set(at.revision, at.revision_size,
      [&](std::string text) { module.set_revision(std::move(text)); });
  set(at.serial, 16, [&](std::string text) { module.set_serial_number(std::move(text)); });
}

// High alarm, low alarm, high warning, low warning.
void SetLimits(const Half& half, std::size_t address, double unit, bool is_signed,
               v1::SensorLimits& limits) {
  const auto value = [&](std::size_t index) {
    const std::size_t at = address + 2 * index;
    return unit * (is_signed ? half.Signed(at) : static_cast<double>(half.Word(at)));
  };
  // All zeros, or a range without values: the module has no limits.
  if (value(0) <= value(1)) return;
  limits.set_alarm_high(value(0));
  limits.set_alarm_low(value(1));
  if (value(2) <= value(3)) return;
  limits.set_warning_high(value(2));
  limits.set_warning_low(value(3));
}

struct LimitPlaces {
  std::size_t temperature, voltage, rx_power, tx_bias, tx_power;
};

void SetAllLimits(const Half& half, const LimitPlaces& at, double bias_unit, v1::Module& module) {
  SetLimits(half, at.temperature, kDegree, true, *module.mutable_temperature_limits());
  SetLimits(half, at.voltage, kVolt, false, *module.mutable_voltage_limits());
  SetLimits(half, at.rx_power, kMilliwatt, false, *module.mutable_rx_power_limits());
  SetLimits(half, at.tx_bias, bias_unit, false, *module.mutable_tx_bias_limits());
  SetLimits(half, at.tx_power, kMilliwatt, false, *module.mutable_tx_power_limits());
}

// Absent: the module has no such monitor.
struct LanePlaces {
  std::uint32_t lanes = 0;
  std::optional<std::size_t> rx_power, tx_bias, tx_power;
};

void SetLanes(const Half& half, const LanePlaces& at, double bias_unit, v1::Module& module) {
  if (!at.rx_power && !at.tx_bias && !at.tx_power) return;
  for (std::uint32_t index = 0; index < at.lanes; ++index) {
    v1::ModuleLane& lane = *module.add_lanes();
    lane.set_lane(index + 1);
    const auto word = [&](std::size_t address) {
      return static_cast<double>(half.Word(address + std::size_t{2} * index));
    };
    if (at.rx_power) lane.set_rx_power_milliwatts(kMilliwatt * word(*at.rx_power));
    if (at.tx_bias) lane.set_tx_bias_milliamperes(bias_unit * word(*at.tx_bias));
    if (at.tx_power) lane.set_tx_power_milliwatts(kMilliwatt * word(*at.tx_power));
  }
}

// SFF-8472

Status ParseSfp(const Half& lower, const ReadEeprom& read, v1::Module& module) {
  SetIdentity(lower, {.vendor = 20, .part = 40, .revision = 56, .revision_size = 4, .serial = 68},
              module);
  const bool passive = (lower.Byte(8) & 0x04) != 0;
  const bool active = (lower.Byte(8) & 0x08) != 0;
  module.set_medium(passive ? "passive copper" : active ? "active copper" : "optical");
  if ((passive || active) && lower.Byte(18) != 0) module.set_length_m(lower.Byte(18));
  // Monitors that are calibrated by the module itself. Few modules leave that to the host.
  constexpr std::uint8_t kMonitored = 0x40;
  constexpr std::uint8_t kCalibrated = 0x20;
  if ((lower.Byte(92) & kMonitored) == 0 || (lower.Byte(92) & kCalibrated) == 0) return {};
  ASSIGN_OR_RETURN(const Half monitors,
                   ReadHalf(read, {.i2c_address = kDiagnosticsAddress, .page = 0, .offset = 0}));
  SetAllLimits(monitors,
               {.temperature = 0, .voltage = 8, .rx_power = 32, .tx_bias = 16, .tx_power = 24},
               kMilliampere, module);
  module.set_temperature_celsius(kDegree * monitors.Signed(96));
  module.set_voltage_volts(kVolt * monitors.Word(98));
  SetLanes(monitors, {.lanes = 1, .rx_power = 104, .tx_bias = 100, .tx_power = 102}, kMilliampere,
           module);
  return {};
}

// SFF-8636

Status ParseQsfp(const Half& lower, const ReadEeprom& read, v1::Module& module) {
  ASSIGN_OR_RETURN(const Half upper, ReadHalf(read, {.page = 0, .offset = 128}));
  SetIdentity(upper,
              {.vendor = 148, .part = 168, .revision = 184, .revision_size = 2, .serial = 196},
              module);
  const unsigned technology = upper.Byte(147) >> 4;
  const bool passive = technology == 0xa || technology == 0xb;
  const bool copper = technology >= 0xa;
  module.set_medium(passive ? "passive copper" : copper ? "active copper" : "optical");
  if (copper && upper.Byte(146) != 0) module.set_length_m(upper.Byte(146));
  const bool flat = (lower.Byte(2) & 0x04) != 0;
  module.set_flat_memory(flat);
  if (passive) return {};  // Its registers of monitors are zeros.
  module.set_temperature_celsius(kDegree * lower.Signed(22));
  module.set_voltage_volts(kVolt * lower.Word(26));
  if (!copper)
    SetLanes(lower, {.lanes = 4, .rx_power = 34, .tx_bias = 42, .tx_power = 50}, kMilliampere,
             module);
  if (flat) return {};
  ASSIGN_OR_RETURN(const Half limits, ReadHalf(read, {.page = 3, .offset = 128}));
  SetAllLimits(
      limits,
      {.temperature = 128, .voltage = 144, .rx_power = 176, .tx_bias = 184, .tx_power = 192},
      kMilliampere, module);
  return {};
}

// CMIS 5

const char* CmisMedium(std::uint8_t type) {
  switch (type) {
    case 1:
    case 2: return "optical";
    case 3: return "passive copper";
    case 4: return "active copper";
    case 5: return "base-t";
    default: return "";
  }
}

const char* CmisState(std::uint8_t byte) {
  constexpr const char* kStates[] = {
      "", "low power", "powering up", "ready", "powering down", "fault", "", ""};
  return kStates[byte >> 1 & 7];
}

// Bits 7 and 6: 0.1, 1, 10 or 100 metres.
double CmisLength(std::uint8_t byte) {
  return std::pow(10.0, (byte >> 6) - 1) * (byte & 0x3f);
}

Status ParseCmis(const Half& lower, const ReadEeprom& read, v1::Module& module) {
  ASSIGN_OR_RETURN(const Half upper, ReadHalf(read, {.page = 0, .offset = 128}));
  SetIdentity(upper,
              {.vendor = 129, .part = 148, .revision = 164, .revision_size = 2, .serial = 166},
              module);
  if (const std::string medium = CmisMedium(lower.Byte(85)); !medium.empty())
    module.set_medium(medium);
  if (const std::string state = CmisState(lower.Byte(3)); !state.empty()) module.set_state(state);
  if (const double length = CmisLength(upper.Byte(202)); length > 0) module.set_length_m(length);
  const bool flat = (lower.Byte(2) & 0x80) != 0;
  module.set_flat_memory(flat);
  if (flat) return {};
  ASSIGN_OR_RETURN(const Half advertised, ReadHalf(read, {.page = 0x01, .offset = 128}));
  const unsigned of_module = advertised.Byte(159);
  const unsigned of_lanes = advertised.Byte(160);
  if ((of_module & 1) != 0) module.set_temperature_celsius(kDegree * lower.Signed(14));
  if ((of_module & 2) != 0) module.set_voltage_volts(kVolt * lower.Word(16));
  const double bias_unit = kMilliampere * (1U << std::min(of_lanes >> 3 & 3, 2U));
  ASSIGN_OR_RETURN(const Half limits, ReadHalf(read, {.page = 0x02, .offset = 128}));
  SetAllLimits(
      limits,
      {.temperature = 128, .voltage = 136, .rx_power = 192, .tx_bias = 184, .tx_power = 176},
      bias_unit, module);
  if ((of_lanes & 7) == 0) return {};
  ASSIGN_OR_RETURN(const Half monitors, ReadHalf(read, {.page = 0x11, .offset = 128}));
  const auto if_bit = [&](unsigned bit, std::size_t address) {
    return (of_lanes & bit) != 0 ? std::optional(address) : std::nullopt;
  };
  SetLanes(monitors,
           {.lanes = 8,
            .rx_power = if_bit(4, 186),
            .tx_bias = if_bit(1, 170),
            .tx_power = if_bit(2, 154)},
           bias_unit, module);
  return {};
}

void DropEmptyLimits(v1::Module& module) {
  if (!module.temperature_limits().has_alarm_high()) module.clear_temperature_limits();
  if (!module.voltage_limits().has_alarm_high()) module.clear_voltage_limits();
  if (!module.rx_power_limits().has_alarm_high()) module.clear_rx_power_limits();
  if (!module.tx_power_limits().has_alarm_high()) module.clear_tx_power_limits();
  if (!module.tx_bias_limits().has_alarm_high()) module.clear_tx_bias_limits();
}

}  // namespace

Result<v1::Module> ParseModule(const ReadEeprom& read) {
  ASSIGN_OR_RETURN(const Half lower, ReadHalf(read, {}));
  const auto* const kind =
      std::find_if(std::begin(kIdentifiers), std::end(kIdentifiers),
                   [&](const Identifier& each) { return each.code == lower.Byte(0); });
  if (kind == std::end(kIdentifiers))
    return Status(Code::kUnimplemented,
                  Format("unknown kind of module, identifier 0x{:02x}", lower.Byte(0)));
  v1::Module module;
  module.set_kind(kind->name);
  constexpr const char* kStandards[] = {"SFF-8472", "SFF-8636", "CMIS"};
  module.set_standard(kStandards[static_cast<std::size_t>(kind->standard)]);
  Status status;
  switch (kind->standard) {
    case Standard::kSff8472: status = ParseSfp(lower, read, module); break;
    case Standard::kSff8636: status = ParseQsfp(lower, read, module); break;
    case Standard::kCmis: status = ParseCmis(lower, read, module); break;
  }
  // Without its identity the module is of no use. A page of monitors may be missing.
  if (!status.ok() && !module.has_vendor()) return status;
  DropEmptyLimits(module);
  return module;
}

}  // namespace fabric::inspect
