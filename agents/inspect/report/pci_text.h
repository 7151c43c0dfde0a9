// Texts of a PCI function's attributes as values, and of the files of GPU drivers. Pure. Formats:
// Documentation/ABI/testing/sysfs-bus-pci, drivers/pci/pci-sysfs.c, drivers/pci/pcie/aer.c.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fabric::inspect {

// "32.0 GT/s PCIe", "8 GT/s" as thousands of megatransfers; 0 for "Unknown", as a function says
// that has no link. INVALID_ARGUMENT for what is neither.
Result<std::uint32_t> ParsePciSpeed(std::string_view text);

// Lanes; 0 for the widths that mean "no link": 0 and 255.
Result<std::uint32_t> ParsePciWidth(std::string_view text);

// The same as a code of the link registers has it: 5 is 32000; 0 when it is no known code.
std::uint32_t PciSpeedOfCode(std::uint8_t code);

// The line "TOTAL_ERR_COR 12" of aer_dev_correctable and its siblings; in a kernel without such
// lines, the sum of the others.
Result<std::uint64_t> ParseAerTotal(std::string_view text);

// Size of the largest memory window among the six base address registers of `resource`; 0 when
// none has been assigned.
Result<std::uint64_t> ParseLargestWindow(std::string_view text);

// Of /proc/driver/nvidia/version.
struct NvidiaVersion {
  std::string version;  // "535.129.03"
  bool open = false;    // "Open Kernel Module"
};
Result<NvidiaVersion> ParseNvidiaVersion(std::string_view text);

// The modules that use `module`, of /proc/modules; absent when it is not in the list.
std::optional<std::vector<std::string_view>> ModuleUsers(std::string_view proc_modules,
                                                         std::string_view module);

// The value of a line "Model:   NVIDIA H100 80GB HBM3"; empty when it is not there, "N/A", or has
// the question marks that the driver prints for what it has not asked its GPU for.
std::string_view NvidiaField(std::string_view information, std::string_view name);

struct KernelVersion {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  friend constexpr auto operator<=>(const KernelVersion&, const KernelVersion&) = default;
};
std::optional<KernelVersion> ParseKernelVersion(std::string_view release);  // "5.15.0-1053-nvidia"

}  // namespace fabric::inspect
