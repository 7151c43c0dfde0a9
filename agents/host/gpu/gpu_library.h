// Common parts of the CUDA and HIP backends. Included by gpu_*.cc only.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agents/host/gpu/gpu_memory.h"
#include "agents/host/shared_library.h"
#include "base/text.h"

namespace fabric::host {

// Loads the first of `names` that exists. It stays loaded: neither library can be unloaded after
// use.
inline Result<SharedLibrary> LoadAny(const std::vector<std::string>& names) {
  Status failed(Code::kNotFound, "no library is named");
  for (std::size_t n = 0; n < names.size(); ++n) {
    Result<SharedLibrary> library = SharedLibrary::LoadForGood(names[n]);
    if (library.ok()) return library;
    // The first name is the usual one.
    if (n == 0) failed = library.status();
  }
  return failed;
}

// Allocations are whole pages of the largest page size of hosts and GPUs, because a dma-buf
// consists of pages.
constexpr std::size_t kGpuPageBytes = std::size_t{2} << 20;
constexpr std::size_t InGpuPages(std::size_t bytes) {
  return (bytes + kGpuPageBytes - 1) / kGpuPageBytes * kGpuPageBytes;
}

// Backend for one vendor.
class VendorMemory {
 public:
  virtual ~VendorMemory() = default;
  virtual Result<std::unique_ptr<GpuBuffer>> Allocate(const std::string& pci_address,
                                                      std::size_t bytes) = 0;
};

Result<std::unique_ptr<VendorMemory>> LoadCuda(const GpuLibraries& libraries);
Result<std::unique_ptr<VendorMemory>> LoadHip(const GpuLibraries& libraries);

}  // namespace fabric::host
