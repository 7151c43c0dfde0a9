// GPU memory allocator for probes, by CUDA's driver library and HIP's runtime, loaded on first use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agents/host/sysfs.h"
#include "base/status.h"

namespace fabric::host {

// A dma-buf and the offset of the memory in it.
struct DmaBufExport {
  Fd file;
  std::uint64_t offset = 0;
};

// Zeroed memory of one GPU. Freed by the destructor; deregister it before.
class GpuBuffer {
 public:
  virtual ~GpuBuffer() = default;
  virtual std::uint64_t address() const = 0;  // Of the GPU, for ibv_reg_mr()
  // UNIMPLEMENTED when the library is too old, otherwise the library's error.
  virtual Result<DmaBufExport> Export() = 0;
};

// Thread-safe; each buffer is used by one thread at a time.
class GpuMemory {
 public:
  virtual ~GpuMemory() = default;
  // `vendor_id`: PCI vendor, "10de". NOT_FOUND with the linker's message without a library;
  // UNIMPLEMENTED for an unsupported vendor and a library without the functions; UNAVAILABLE with
  // the library's error. The first call for a GPU takes about a second; the process keeps the
  // library's resources from then on.
  virtual Result<std::unique_ptr<GpuBuffer>> Allocate(const std::string& pci_address,
                                                      const std::string& vendor_id,
                                                      std::size_t bytes) = 0;
};

// Names for dlopen(); the first that exists is used.
struct GpuLibraries {
  std::vector<std::string> cuda = {"libcuda.so.1"};
  std::vector<std::string> hip = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                  "/opt/rocm/lib/libamdhip64.so"};
  std::vector<std::string> hsa = {"libhsa-runtime64.so.1", "/opt/rocm/lib/libhsa-runtime64.so.1"};
};

std::unique_ptr<GpuMemory> OpenGpuMemory(GpuLibraries libraries = {});

}  // namespace fabric::host
