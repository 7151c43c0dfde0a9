// Memory of AMD's GPUs, by the part of HIP's and HSA's binary interfaces that is used
// (hip_runtime_api.h, hsa_ext_amd.h; there is no header in Debian 12).
#include "agents/host/gpu/gpu_library.h"

namespace fabric::host {
namespace {

using Answer = int;  // hipError_t, hsa_status_t
constexpr Answer kHipSuccess = 0;
constexpr int kHipDmaBufFile = 1;  // hipMemRangeHandleTypeDmaBufFd

struct HipFunctions {
  Answer (*init)(unsigned flags);
  const char* (*error_string)(Answer);
  Answer (*device_by_address)(int* device, const char* pci_address);
  Answer (*set_device)(int device);
  Answer (*allocate)(void**, std::size_t bytes);
  Answer (*free)(void*);
  Answer (*fill)(void*, int value, std::size_t bytes);
  // HIP 7; nullptr before
  Answer (*export_range)(void* file, void* address, std::size_t bytes, int type,
                         unsigned long long flags);
  // Of HSA; nullptr without it
  Answer (*portable_export)(const void* address, std::size_t bytes, int* file,
                            std::uint64_t* offset);

  Status Error(std::string_view what, Answer code) const {
    const char* const text = error_string(code);
    return {Code::kUnavailable,
            Format("{}: {} ({})", what, text == nullptr ? "unknown error" : text, code)};
  }
};

class HipBuffer final : public GpuBuffer {
 public:
  HipBuffer(const HipFunctions& hip, void* address, std::size_t bytes)
      : hip_(hip), address_(address), bytes_(bytes) {}
  ~HipBuffer() override { (void)hip_.free(address_); }

  std::uint64_t address() const override { return reinterpret_cast<std::uintptr_t>(address_); }

  Result<DmaBufExport> Export() override {
    int file = -1;
    std::uint64_t offset = 0;
    if (hip_.portable_export != nullptr) {
      const Answer code = hip_.portable_export(address_, bytes_, &file, &offset);
      if (code != kHipSuccess)
        return Status(Code::kUnavailable,
                      Format("hsa_amd_portable_export_dmabuf: status {:#x}", code));
    } else if (hip_.export_range != nullptr) {
      const Answer code = hip_.export_range(&file, address_, bytes_, kHipDmaBufFile, 0);
      if (code != kHipSuccess) return hip_.Error("hipMemGetHandleForAddressRange", code);
    } else {
      return Status(Code::kUnimplemented,
                    "neither hsa_amd_portable_export_dmabuf nor hipMemGetHandleForAddressRange: "
                    "ROCm before 5.6");
    }
    return DmaBufExport{.file = Fd(file), .offset = offset};
  }

 private:
  const HipFunctions& hip_;
  void* const address_;
  const std::size_t bytes_;
};

class Hip final : public VendorMemory {
 public:
  Status Load(const GpuLibraries& libraries) {
    ASSIGN_OR_RETURN(library_, LoadAny(libraries.hip));
    const bool whole = library_.Find("hipInit", hip_.init) &&
                       library_.Find("hipGetErrorString", hip_.error_string) &&
                       library_.Find("hipDeviceGetByPCIBusId", hip_.device_by_address) &&
                       library_.Find("hipSetDevice", hip_.set_device) &&
                       library_.Find("hipMalloc", hip_.allocate) &&
                       library_.Find("hipFree", hip_.free) && library_.Find("hipMemset", hip_.fill);
    if (!whole)
      return {Code::kUnimplemented,
              Format("{} lacks functions of HIP 5 and later", libraries.hip.front())};
    (void)library_.Find("hipMemGetHandleForAddressRange", hip_.export_range);
    if (Result<SharedLibrary> hsa = LoadAny(libraries.hsa); hsa.ok()) {
      hsa_ = *std::move(hsa);
      (void)hsa_.Find("hsa_amd_portable_export_dmabuf", hip_.portable_export);
    }
    const Answer code = hip_.init(0);
    return code == kHipSuccess ? Status() : hip_.Error("hipInit", code);
  }

  Result<std::unique_ptr<GpuBuffer>> Allocate(const std::string& pci_address,
                                              std::size_t bytes) override {
    int device = 0;
    if (const Answer code = hip_.device_by_address(&device, pci_address.c_str());
        code != kHipSuccess)
      return hip_.Error("hipDeviceGetByPCIBusId " + pci_address, code);
    // Of this thread
    if (const Answer code = hip_.set_device(device); code != kHipSuccess)
      return hip_.Error("hipSetDevice", code);
    void* address = nullptr;
    if (const Answer code = hip_.allocate(&address, InGpuPages(bytes)); code != kHipSuccess)
      return hip_.Error(Format("hipMalloc of {}", bytes), code);
    auto buffer = std::make_unique<HipBuffer>(hip_, address, InGpuPages(bytes));
    if (const Answer code = hip_.fill(address, 0, InGpuPages(bytes)); code != kHipSuccess)
      return hip_.Error("hipMemset", code);
    return std::unique_ptr<GpuBuffer>(std::move(buffer));
  }

 private:
  SharedLibrary library_;
  SharedLibrary hsa_;
  HipFunctions hip_ = {};
};

}  // namespace

Result<std::unique_ptr<VendorMemory>> LoadHip(const GpuLibraries& libraries) {
  auto hip = std::make_unique<Hip>();
  RETURN_IF_ERROR(hip->Load(libraries));
  return std::unique_ptr<VendorMemory>(std::move(hip));
}

}  // namespace fabric::host
