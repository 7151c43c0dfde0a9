// Memory of NVIDIA's GPUs, by the part of the driver library's binary interface that is used (CUDA
// Driver API; there is no header in Debian). The suffixes are versions that never change their
// meaning.
#include "agents/host/gpu/gpu_library.h"

namespace fabric::host {
namespace {

using Answer = int;             // CUresult
using Device = int;             // CUdevice
using Address = std::uint64_t;  // CUdeviceptr
struct Context;                 // Opaque
constexpr Answer kSuccess = 0;
constexpr int kSyncMemoryOperations = 6;  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
constexpr int kDmaBufFile = 1;            // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD

struct Functions {
  Answer (*init)(unsigned flags);
  Answer (*error_name)(Answer, const char** text);
  Answer (*error_string)(Answer, const char** text);
  Answer (*device_by_address)(Device*, const char* pci_address);
  Answer (*retain)(Context**, Device);
  Answer (*release)(Device);
  Answer (*push)(Context*);
  Answer (*pop)(Context**);
  Answer (*allocate)(Address*, std::size_t bytes);
  Answer (*free)(Address);
  Answer (*fill)(Address, unsigned char value, std::size_t bytes);
  Answer (*set_attribute)(const void* value, int attribute, Address);
  // CUDA 11.7; nullptr before
  Answer (*export_range)(void* file, Address, std::size_t bytes, int type,
                         unsigned long long flags);

  Status Error(std::string_view what, Answer code) const {
    const char* name = nullptr;
    const char* text = nullptr;
    (void)error_name(code, &name);
    (void)error_string(code, &text);
    return {Code::kUnavailable,
            Format("{}: {} ({})", what, text == nullptr ? "unknown error" : text,
                   name == nullptr ? Format("{}", code) : name)};
  }
};

// The GPU's primary context, which all of a process share, until the end of the object.
class PrimaryContext {
 public:
  static Result<PrimaryContext> Retain(const Functions& cuda, const std::string& pci_address) {
    Device device = 0;
    if (const Answer code = cuda.device_by_address(&device, pci_address.c_str()); code != kSuccess)
      return cuda.Error("cuDeviceGetByPCIBusId " + pci_address, code);
    Context* context = nullptr;
    if (const Answer code = cuda.retain(&context, device); code != kSuccess)
      return cuda.Error("cuDevicePrimaryCtxRetain", code);
    return PrimaryContext(cuda, device, context);
  }
  PrimaryContext(PrimaryContext&& other) noexcept
      : cuda_(other.cuda_), device_(other.device_), context_(std::exchange(other.context_, {})) {}
  PrimaryContext& operator=(PrimaryContext&&) = delete;
  ~PrimaryContext() {
    if (context_ != nullptr) (void)cuda_.release(device_);
  }

  // Runs `act` with the context as the thread's own.
  template <class Act>
  Status Within(Act act) const {
    if (const Answer code = cuda_.push(context_); code != kSuccess)
      return cuda_.Error("cuCtxPushCurrent", code);
    const Status done = act();
    Context* popped = nullptr;
    (void)cuda_.pop(&popped);
    return done;
  }

 private:
  PrimaryContext(const Functions& cuda, Device device, Context* context)
      : cuda_(cuda), device_(device), context_(context) {}

  const Functions& cuda_;
  Device device_;
  Context* context_;
};

class CudaBuffer final : public GpuBuffer {
 public:
  CudaBuffer(const Functions& cuda, PrimaryContext context, Address address, std::size_t bytes)
      : cuda_(cuda), context_(std::move(context)), address_(address), bytes_(bytes) {}
  ~CudaBuffer() override {
    (void)context_.Within([this] {
      (void)cuda_.free(address_);
      return Status();
    });
  }

  std::uint64_t address() const override { return address_; }
  const PrimaryContext& context() const { return context_; }

  Result<DmaBufExport> Export() override {
    if (cuda_.export_range == nullptr)
      return Status(Code::kUnimplemented,
                    "the driver library has no cuMemGetHandleForAddressRange: CUDA before 11.7");
    int file = -1;
    RETURN_IF_ERROR(context_.Within([&]() -> Status {
      const Answer code = cuda_.export_range(&file, address_, bytes_, kDmaBufFile, 0);
      return code == kSuccess ? Status() : cuda_.Error("cuMemGetHandleForAddressRange", code);
    }));
    return DmaBufExport{.file = Fd(file), .offset = 0};
  }

 private:
  const Functions& cuda_;
  PrimaryContext context_;
  const Address address_;
  const std::size_t bytes_;
};

class Cuda final : public VendorMemory {
 public:
  Status Load(const GpuLibraries& libraries) {
    ASSIGN_OR_RETURN(library_, LoadAny(libraries.cuda));
    const bool whole =
        library_.Find("cuInit", cuda_.init) && library_.Find("cuGetErrorName", cuda_.error_name) &&
        library_.Find("cuGetErrorString", cuda_.error_string) &&
        library_.Find("cuDeviceGetByPCIBusId", cuda_.device_by_address) &&
        library_.Find("cuDevicePrimaryCtxRetain", cuda_.retain) &&
        library_.Find("cuDevicePrimaryCtxRelease_v2", cuda_.release) &&
        library_.Find("cuCtxPushCurrent_v2", cuda_.push) &&
        library_.Find("cuCtxPopCurrent_v2", cuda_.pop) &&
        library_.Find("cuMemAlloc_v2", cuda_.allocate) &&
        library_.Find("cuMemFree_v2", cuda_.free) && library_.Find("cuMemsetD8_v2", cuda_.fill) &&
        library_.Find("cuPointerSetAttribute", cuda_.set_attribute);
    if (!whole)
      return {Code::kUnimplemented,
              Format("{} lacks functions of CUDA 11 and later", libraries.cuda.front())};
    (void)library_.Find("cuMemGetHandleForAddressRange", cuda_.export_range);
    const Answer code = cuda_.init(0);
    return code == kSuccess ? Status() : cuda_.Error("cuInit", code);
  }

  Result<std::unique_ptr<GpuBuffer>> Allocate(const std::string& pci_address,
                                              std::size_t bytes) override {
    ASSIGN_OR_RETURN(PrimaryContext context, PrimaryContext::Retain(cuda_, pci_address));
    Address address = 0;
    RETURN_IF_ERROR(context.Within([&]() -> Status {
      const Answer code = cuda_.allocate(&address, InGpuPages(bytes));
      return code == kSuccess ? Status() : cuda_.Error(Format("cuMemAlloc of {}", bytes), code);
    }));
    auto buffer =
        std::make_unique<CudaBuffer>(cuda_, std::move(context), address, InGpuPages(bytes));
    RETURN_IF_ERROR(Prepare(*buffer, InGpuPages(bytes)));
    return std::unique_ptr<GpuBuffer>(std::move(buffer));
  }

 private:
  // Operations on memory that a NIC reaches must not be left on their way (GPUDirect RDMA guide).
  Status Prepare(CudaBuffer& buffer, std::size_t bytes) {
    return buffer.context().Within([&]() -> Status {
      const unsigned on = 1;
      if (const Answer code = cuda_.set_attribute(&on, kSyncMemoryOperations, buffer.address());
          code != kSuccess)
        return cuda_.Error("cuPointerSetAttribute SYNC_MEMOPS", code);
      const Answer code = cuda_.fill(buffer.address(), 0, bytes);
      return code == kSuccess ? Status() : cuda_.Error("cuMemsetD8", code);
    });
  }

  SharedLibrary library_;
  Functions cuda_ = {};
};

}  // namespace

Result<std::unique_ptr<VendorMemory>> LoadCuda(const GpuLibraries& libraries) {
  auto cuda = std::make_unique<Cuda>();
  RETURN_IF_ERROR(cuda->Load(libraries));
  return std::unique_ptr<VendorMemory>(std::move(cuda));
}

}  // namespace fabric::host
