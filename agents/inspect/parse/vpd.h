// Parser for vital product data (VPD) of a PCI function.
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
  // A vendor field has SMDL=SW_MNG: a ConnectX function through which NVIDIA's Fabric Manager
  // manages NVSwitches. Its firmware refuses most counter reads.
  bool nvswitch_management = false;
};

// Parses the bytes of `vpd`. Ignores bytes after the end tag and after a truncated resource, which
// some cards have. INVALID_ARGUMENT when nothing is readable.
Result<VitalProductData> ParseVpd(std::string_view bytes);

}  // namespace fabric::inspect
