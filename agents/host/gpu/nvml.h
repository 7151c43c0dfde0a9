// NVML client: NVIDIA's management library, loaded at run time where installed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace fabric::host {

// One NVLink of a GPU. Absent: the GPU or the driver does not report it.
struct ManagedLink {
  std::uint32_t index = 0;
  bool active = false;
  std::optional<std::string> remote_pci_address;  // GPU or NVSwitch at the other end
  std::optional<std::uint64_t> replay_errors;     // Since the driver was loaded
  std::optional<std::uint64_t> recovery_errors;
  std::optional<std::uint64_t> crc_flit_errors;
  std::optional<std::uint64_t> crc_data_errors;
};

struct ManagedGpu {
  std::string pci_address;  // "0000:1b:00.0"
  std::string name;
  std::string uuid;
  std::string board_part_number;   // Empty if unknown
  std::vector<ManagedLink> links;  // NVLinks, by index; empty for a GPU without
};

struct GpuManagementInfo {
  std::string driver_version;
  std::string library_version;
  std::string cuda_version;  // Highest of the driver: "12.4"; empty if unknown
  std::vector<ManagedGpu> gpus;
  std::vector<Status> failures;  // One for each GPU that failed
};

class GpuManagement {
 public:
  virtual ~GpuManagement() = default;
  // Opens the driver, reads, and closes it: an open handle would block the removal of the driver.
  // UNIMPLEMENTED when captured, NOT_FOUND without the library. Takes seconds without a persistence
  // daemon, and may block in a driver for ever: call it on a watched thread. One thread at a time.
  virtual Result<GpuManagementInfo> Read() = 0;
};

inline constexpr const char* kGpuManagementLibrary = "libnvidia-ml.so.1";

// `library`: name for dlopen(), loaded by Read().
std::unique_ptr<GpuManagement> OpenGpuManagement(std::string library = kGpuManagementLibrary);
std::unique_ptr<GpuManagement> NoGpuManagement();

}  // namespace fabric::host
