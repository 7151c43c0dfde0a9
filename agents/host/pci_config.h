// PCI configuration space reader. Layout: PCI Local Bus 3.0 chapter 6, PCI Express Base,
// include/uapi/linux/pci_regs.h.
//
// Reads only the registers that it needs, each once: a read accesses the hardware and takes about
// 1 us. Reading undefined registers disturbs some devices, so the kernel shows only the first 64
// bytes without CAP_SYS_ADMIN.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "agents/host/sysfs.h"
#include "base/status.h"

namespace fabric::host {

// The PCI Express capability. Speed codes: 1 for 2.5 GT/s, 2 for 5, 3 for 8, 4 for 16, 5 for 32, 6
// for 64; 0 for undefined codes and widths.
struct PciExpress {
  std::uint8_t port_type = 0;  // PCI_EXP_TYPE_*: 0 endpoint, 4 root port, 5 upstream, ...
  std::uint32_t payload_bytes = 0;
  std::uint32_t payload_supported_bytes = 0;
  std::uint32_t read_request_bytes = 0;
  bool relaxed_ordering = false;
  bool extended_tag = false;
  std::uint8_t speed_code = 0;
  std::uint8_t width = 0;
  std::uint8_t speed_code_max = 0;
  std::uint8_t width_max = 0;
};

struct PciAccessControl {  // PCI_ACS_*
  std::uint16_t capability = 0;
  std::uint16_t control = 0;
};

struct PciBuses {  // Of a bridge: buses below it
  std::uint8_t secondary = 0;
  std::uint8_t subordinate = 0;
};

struct PciTranslation {  // Address translation services
  bool enabled = false;
};

struct PciConfig {
  std::uint16_t vendor = 0;  // 0xffff on virtual functions; sysfs has the real id.
  std::uint16_t device = 0;
  std::uint32_t class_code = 0;
  std::optional<PciBuses> buses;
  // False: only the first 64 bytes are readable; the following members are unknown.
  bool capabilities_known = false;
  std::optional<PciExpress> express;
  // False: only the first 256 bytes are readable; the following members are unknown. True also for
  // functions without extended registers.
  bool extended_known = false;
  std::optional<PciAccessControl> access_control;
  std::optional<PciTranslation> translation;
};

// Reads bytes at `offset` into `to`; fewer at the end of the readable part.
using ReadConfigAt =
    std::function<Result<std::size_t>(std::uint32_t offset, std::span<std::uint8_t> to)>;

// DATA_LOSS for less than a header. UNAVAILABLE for a function that reads as all ones, as after it
// fell off the bus. Capability lists end at a loop or an invalid offset.
Result<PciConfig> ParsePciConfig(const ReadConfigAt& read);

// Reads the file "config" of a function's directory. Also the errors of Dir.
Result<PciConfig> ReadPciConfig(const Dir& function);

}  // namespace fabric::host
