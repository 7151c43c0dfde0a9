// Memory of GPUs, for probes: by CUDA's driver library and by HIP's runtime, which are loaded when
// they are first asked for. One interface, so that a machine without them and tests look the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agents/host/sysfs.h"
#include "base/status.h"

namespace fabric::host {

// A dma-buf and where in it the memory begins.
struct DmaBufExport {
  Fd file;
  std::uint64_t offset = 0;
};

// Zeroed memory of one GPU, freed with the object. Nothing may be registered on it any more then.
class GpuBuffer {
 public:
  virtual ~GpuBuffer() = default;
  virtual std::uint64_t address() const = 0;  // As the GPU and ibv_reg_mr() know it
  // UNIMPLEMENTED: the library is too old. Else what the library said.
  virtual Result<DmaBufExport> Export() = 0;
};

// One thread at a time for each buffer; safe from any thread otherwise.
class GpuMemory {
 public:
  virtual ~GpuMemory() = default;
  // `vendor_id` as PCI has it, "10de". NOT_FOUND: no library, with the linker's words.
  // UNIMPLEMENTED: nobody knows how to use that vendor's GPUs, or functions are missing.
  // UNAVAILABLE: what the library said. The first call for a GPU takes a second or so, and from
  // then on the process holds what the library needs.
  virtual Result<std::unique_ptr<GpuBuffer>> Allocate(const std::string& pci_address,
                                                      const std::string& vendor_id,
                                                      std::size_t bytes) = 0;
};

// Names as dlopen() takes them; of several the first that is there.
struct GpuLibraries {
  std::vector<std::string> cuda = {"libcuda.so.1"};
  std::vector<std::string> hip = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                  "/opt/rocm/lib/libamdhip64.so"};
  std::vector<std::string> hsa = {"libhsa-runtime64.so.1", "/opt/rocm/lib/libhsa-runtime64.so.1"};
};

std::unique_ptr<GpuMemory> OpenGpuMemory(GpuLibraries libraries = {});

}  // namespace fabric::host
