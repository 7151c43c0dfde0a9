// NVML client: NVIDIA's management library, loaded at run time where installed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace fabric::host {

struct ManagedGpu {
  std::string pci_address;  // "0000:1b:00.0"
  std::string name;
  std::string uuid;
  std::optional<std::uint32_t> links;  // NVLinks; absent for a GPU without
  std::uint32_t links_active = 0;
};

struct GpuManagementInfo {
  std::string driver_version;
  std::string library_version;
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
