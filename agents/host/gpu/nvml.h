// NVIDIA's management library, loaded at run time where it is installed. One interface, so that a
// machine without it, a captured tree and tests look the same.
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
  std::optional<std::uint32_t> links;  // NVLinks; absent when the GPU has none to ask about.
  std::uint32_t links_active = 0;
};

struct GpuManagementInfo {
  std::string driver_version;
  std::string library_version;
  std::vector<ManagedGpu> gpus;
  std::vector<Status> failures;  // One for each GPU that did not answer.
};

class GpuManagement {
 public:
  virtual ~GpuManagement() = default;
  // Loads, asks and lets go of the driver again: a handle that stays open would hold up its
  // removal. UNIMPLEMENTED when captured, NOT_FOUND without the library. May take seconds where no
  // persistence daemon keeps the GPUs awake, and for ever with a driver that hangs: call it where
  // that holds up nobody else. One thread at a time.
  virtual Result<GpuManagementInfo> Read() = 0;
};

inline constexpr const char* kGpuManagementLibrary = "libnvidia-ml.so.1";

// `library` as dlopen() takes it. Nothing is loaded before Read().
std::unique_ptr<GpuManagement> OpenGpuManagement(std::string library = kGpuManagementLibrary);
std::unique_ptr<GpuManagement> NoGpuManagement();

}  // namespace fabric::host
