#include "agents/host/gpu/gpu_memory.h"

#include "agents/host/gpu/gpu_library.h"
#include "base/mutex.h"

namespace fabric::host {
namespace {

class MachineGpuMemory final : public GpuMemory {
 public:
  explicit MachineGpuMemory(GpuLibraries libraries) : libraries_(std::move(libraries)) {}

  Result<std::unique_ptr<GpuBuffer>> Allocate(const std::string& pci_address,
                                              const std::string& vendor_id,
                                              std::size_t bytes) override {
    ASSIGN_OR_RETURN(VendorMemory* const memory, Of(vendor_id));
    return memory->Allocate(pci_address, bytes);
  }

 private:
  using Load = Result<std::unique_ptr<VendorMemory>> (*)(const GpuLibraries&);

  Result<VendorMemory*> Of(const std::string& vendor_id) {
    const MutexLock lock(mutex_);
    if (vendor_id == "10de") return Loaded(cuda_, &LoadCuda);
    if (vendor_id == "1002") return Loaded(hip_, &LoadHip);
    return Status(Code::kUnimplemented, Format("GPUs of PCI vendor {} are not supported",
                                               vendor_id.empty() ? "unknown" : vendor_id));
  }

  // A library that was not there may be installed later.
  Result<VendorMemory*> Loaded(std::unique_ptr<VendorMemory>& memory, Load load) REQUIRES(mutex_) {
    if (memory == nullptr) {
      ASSIGN_OR_RETURN(memory, load(libraries_));
    }
    return memory.get();
  }

  const GpuLibraries libraries_;
  Mutex mutex_;
  std::unique_ptr<VendorMemory> cuda_ GUARDED_BY(mutex_);
  std::unique_ptr<VendorMemory> hip_ GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<GpuMemory> OpenGpuMemory(GpuLibraries libraries) {
  return std::make_unique<MachineGpuMemory>(std::move(libraries));
}

}  // namespace fabric::host
