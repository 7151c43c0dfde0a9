// Vital product data of a PCI function: what the maker wrote on the card.
// Source: PCI Local Bus Specification 3.0, appendix I; Linux drivers/pci/vpd.c.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric::inspect {

struct VitalProductData {
  std::optional<std::string> product;        // Identifier string
  std::optional<std::string> part_number;    // PN
  std::optional<std::string> serial_number;  // SN
  // A vendor field says SMDL=SW_MNG: a ConnectX function through which NVIDIA's Fabric Manager
  // manages NVSwitches. Its firmware refuses most counter reads.
  bool nvswitch_management = false;
};

// The bytes of `vpd`. What comes after the end tag is ignored, and so is what follows a resource
// that does not fit: some cards are cut short. INVALID_ARGUMENT when nothing could be made of it.
Result<VitalProductData> ParseVpd(std::string_view bytes);

}  // namespace fabric::inspect
