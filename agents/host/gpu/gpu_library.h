// What the libraries of both vendors have in common. Included by gpu_*.cc alone.
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

// The first of `names` that can be loaded. It stays: neither library can be unloaded again once it
// has been used.
inline Result<SharedLibrary> LoadAny(const std::vector<std::string>& names) {
  Status failed(Code::kNotFound, "no library is named");
  for (std::size_t n = 0; n < names.size(); ++n) {
    Result<SharedLibrary> library = SharedLibrary::LoadForGood(names[n]);
    if (library.ok()) return library;
    // The first name is what people look for.
    if (n == 0) failed = library.status();
  }
  return failed;
}

// Memory is handed out in whole pages of the largest size that hosts and GPUs have, because a
// dma-buf is made of pages.
constexpr std::size_t kGpuPageBytes = std::size_t{2} << 20;
constexpr std::size_t InGpuPages(std::size_t bytes) {
  return (bytes + kGpuPageBytes - 1) / kGpuPageBytes * kGpuPageBytes;
}

// The memory of one vendor's GPUs.
class VendorMemory {
 public:
  virtual ~VendorMemory() = default;
  virtual Result<std::unique_ptr<GpuBuffer>> Allocate(const std::string& pci_address,
                                                      std::size_t bytes) = 0;
};

Result<std::unique_ptr<VendorMemory>> LoadCuda(const GpuLibraries& libraries);
Result<std::unique_ptr<VendorMemory>> LoadHip(const GpuLibraries& libraries);

}  // namespace fabric::host
