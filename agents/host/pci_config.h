// What the configuration space of a PCI function tells. Layout: PCI Local Bus 3.0 chapter 6, PCI
// Express Base, include/uapi/linux/pci_regs.h.
//
// Only the registers that are asked for are read, each once: a read of one goes to the hardware,
// takes about a microsecond, and undefined registers of some devices do not like to be read (which
// is why the kernel shows the first 64 bytes only to those without CAP_SYS_ADMIN).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "agents/host/sysfs.h"
#include "base/status.h"

namespace fabric::host {

// The PCI Express capability. Codes of speed: 1 is 2.5 GT/s, 2 is 5, 3 is 8, 4 is 16, 5 is 32, 6
// is 64; codes and widths that say nothing are 0.
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

struct PciBuses {  // Of a bridge: what is below it.
  std::uint8_t secondary = 0;
  std::uint8_t subordinate = 0;
};

struct PciTranslation {  // Address translation services
  bool enabled = false;
};

struct PciConfig {
  std::uint16_t vendor = 0;  // 0xffff on virtual functions; sysfs knows better.
  std::uint16_t device = 0;
  std::uint32_t class_code = 0;
  std::optional<PciBuses> buses;
  // False: what lies beyond the first 64 bytes was not shown, the rest of this is not known.
  bool capabilities_known = false;
  std::optional<PciExpress> express;
  // False: what lies beyond byte 255 was not shown, the rest of this is not known. True also for
  // functions that cannot have any of it.
  bool extended_known = false;
  std::optional<PciAccessControl> access_control;
  std::optional<PciTranslation> translation;
};

// Fills `to` with what stands at `offset`; fewer bytes at the end of what is shown.
using ReadConfigAt =
    std::function<Result<std::size_t>(std::uint32_t offset, std::span<std::uint8_t> to)>;

// DATA_LOSS for less than a header, UNAVAILABLE for a function that answers with ones only, as one
// that has fallen off the bus does. Lists that run in circles or out of bounds end where they do.
Result<PciConfig> ParsePciConfig(const ReadConfigAt& read);

// The file "config" of a function's directory; also the failures of opening it.
Result<PciConfig> ReadPciConfig(const Dir& function);

}  // namespace fabric::host
