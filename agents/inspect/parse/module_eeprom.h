// Parser of the EEPROM of pluggable modules and cables: SFF-8472 (SFP), SFF-8636 (QSFP), CMIS
// (QSFP-DD, OSFP). Pure; never reads outside the given bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

// A half page of 128 bytes. Offsets 0 to 127 are on page 0 only.
struct EepromPlace {
  std::uint8_t i2c_address = 0x50;
  std::uint8_t page = 0;
  std::uint8_t offset = 0;  // 0 or 128
};
inline constexpr std::size_t kEepromHalfBytes = 128;
using ReadEeprom = std::function<Result<std::vector<std::uint8_t>>(const EepromPlace&)>;

// Reads what the kind of the module needs, and parses it. Errors are those of `read`;
// UNIMPLEMENTED for an unknown kind; DATA_LOSS when less than half a page came back. Values that
// the module does not monitor are absent, such as the temperature of a passive cable. When only
// pages after the first are unreadable, the result lacks their values.
Result<v1::Module> ParseModule(const ReadEeprom& read);

}  // namespace fabric::inspect
