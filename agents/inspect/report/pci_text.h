// Parsers for attributes of PCI functions and files of GPU drivers. Pure. Formats:
// Documentation/ABI/testing/sysfs-bus-pci, drivers/pci/pci-sysfs.c, drivers/pci/pcie/aer.c.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fabric::inspect {

// "32.0 GT/s PCIe", "8 GT/s" as thousands of megatransfers; 0 for "Unknown", the value
// without a link. INVALID_ARGUMENT for other text.
Result<std::uint32_t> ParsePciSpeed(std::string_view text);

// Lanes; 0 for 0 and 255, the values without a link.
Result<std::uint32_t> ParsePciWidth(std::string_view text);

// Speed of a code of the link registers: 32000 for 5; 0 for an unknown code.
std::uint32_t PciSpeedOfCode(std::uint8_t code);

// The line "TOTAL_ERR_COR 12" of aer_dev_correctable and its siblings; without such a line, the sum
// of the others.
Result<std::uint64_t> ParseAerTotal(std::string_view text);

// Size of the largest memory window of the six base address registers in `resource`; 0 without one.
Result<std::uint64_t> ParseLargestWindow(std::string_view text);

// From /proc/driver/nvidia/version.
struct NvidiaVersion {
  std::string version;  // "535.129.03"
  bool open = false;    // "Open Kernel Module"
};
Result<NvidiaVersion> ParseNvidiaVersion(std::string_view text);

// Users of `module` in /proc/modules; absent when it is not listed.
std::optional<std::vector<std::string_view>> ModuleUsers(std::string_view proc_modules,
                                                         std::string_view module);

// The value of a line "Model:   NVIDIA H100 80GB HBM3"; empty when missing, "N/A", or printed as
// question marks, the driver's text for data not yet read from the GPU.
std::string_view NvidiaField(std::string_view information, std::string_view name);

struct KernelVersion {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  friend constexpr auto operator<=>(const KernelVersion&, const KernelVersion&) = default;
};
std::optional<KernelVersion> ParseKernelVersion(std::string_view release);  // "5.15.0-1053-nvidia"

}  // namespace fabric::inspect
