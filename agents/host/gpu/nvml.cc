#include "agents/host/gpu/nvml.h"

#include <array>
#include <utility>

#include "agents/host/printable.h"
#include "agents/host/shared_library.h"
#include "base/ids.h"
#include "base/text.h"

namespace fabric::host {
namespace {

// The part of the library's binary interface that is used, from its reference manual. The suffixes
// are versions that never change their meaning; there is no header in Debian.
using Answer = int;  // nvmlReturn_t
constexpr Answer kNvmlSuccess = 0;
// No flags: a GPU is opened when its handle is asked for. With NVML_INIT_FLAG_NO_ATTACH (2), the
// library counts 0 GPUs (seen with driver 580).
constexpr unsigned kInitFlags = 0;
constexpr unsigned kGpusMax = 256;
constexpr unsigned kLinksMax = 36;  // More than any GPU has; the others are invalid arguments.
constexpr unsigned kTextBytes = 96;

struct PciInfo {  // nvmlPciInfo_t of nvmlDeviceGetPciInfo_v3
  std::array<char, 16> legacy_address;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  std::array<char, 32> address;
};
static_assert(sizeof(PciInfo) == 68);

struct NvmlDevice;  // Opaque

// nvmlNvLinkErrorCounter_t
constexpr int kReplayErrors = 0;
constexpr int kRecoveryErrors = 1;
constexpr int kCrcFlitErrors = 2;
constexpr int kCrcDataErrors = 3;

class Library {
 public:
  static Result<Library> Load(const std::string& name) {
    Library library;
    ASSIGN_OR_RETURN(library.file_, SharedLibrary::Load(name));
    const bool whole = library.file_.Find("nvmlInitWithFlags", library.init) &&
                       library.file_.Find("nvmlShutdown", library.shutdown) &&
                       library.file_.Find("nvmlErrorString", library.error_string) &&
                       library.file_.Find("nvmlSystemGetDriverVersion", library.driver_version) &&
                       library.file_.Find("nvmlSystemGetNVMLVersion", library.library_version) &&
                       library.file_.Find("nvmlDeviceGetCount_v2", library.device_count) &&
                       library.file_.Find("nvmlDeviceGetHandleByIndex_v2", library.device) &&
                       library.file_.Find("nvmlDeviceGetPciInfo_v3", library.pci_info) &&
                       library.file_.Find("nvmlDeviceGetName", library.name) &&
                       library.file_.Find("nvmlDeviceGetUUID", library.uuid) &&
                       library.file_.Find("nvmlDeviceGetNvLinkState", library.link_state);
    if (!whole)
      return Status(Code::kUnimplemented,
                    Format("{} lacks functions of driver 450 and later", name));
    // Optional: nullptr when the library does not have them.
    (void)library.file_.Find("nvmlSystemGetCudaDriverVersion_v2", library.cuda_version);
    (void)library.file_.Find("nvmlDeviceGetBoardPartNumber", library.board_part_number);
    (void)library.file_.Find("nvmlDeviceGetNvLinkRemotePciInfo_v2", library.link_remote);
    (void)library.file_.Find("nvmlDeviceGetNvLinkErrorCounter", library.link_errors);
    return library;
  }

  Status Error(std::string_view what, Answer code) const {
    const char* const text = error_string(code);
    return {Code::kUnavailable,
            Format("{}: {} ({})", what, text == nullptr ? "unknown error" : text, code)};
  }

  Answer (*init)(unsigned flags) = nullptr;
  Answer (*shutdown)() = nullptr;
  const char* (*error_string)(Answer) = nullptr;
  Answer (*driver_version)(char* text, unsigned bytes) = nullptr;
  Answer (*library_version)(char* text, unsigned bytes) = nullptr;
  Answer (*device_count)(unsigned* count) = nullptr;
  Answer (*device)(unsigned index, NvmlDevice** device) = nullptr;
  Answer (*pci_info)(NvmlDevice*, PciInfo*) = nullptr;
  Answer (*name)(NvmlDevice*, char* text, unsigned bytes) = nullptr;
  Answer (*uuid)(NvmlDevice*, char* text, unsigned bytes) = nullptr;
  Answer (*link_state)(NvmlDevice*, unsigned link, unsigned* active) = nullptr;
  Answer (*cuda_version)(int* version) = nullptr;
  Answer (*board_part_number)(NvmlDevice*, char* text, unsigned bytes) = nullptr;
  Answer (*link_remote)(NvmlDevice*, unsigned link, PciInfo*) = nullptr;
  Answer (*link_errors)(NvmlDevice*, unsigned link, int counter,
                        unsigned long long* value) = nullptr;

 private:
  SharedLibrary file_;
};

// nvmlInit until the end of the scope.
class Session {
 public:
  explicit Session(const Library& library) : library_(library), code_(library.init(kInitFlags)) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (code_ == kNvmlSuccess) (void)library_.shutdown();
  }
  Answer code() const { return code_; }

 private:
  const Library& library_;
  const Answer code_;
};

// Text from `get`; empty when it fails or is not text.
template <class Get>
std::string TextOf(Get get) {
  std::array<char, kTextBytes> buffer{};
  if (get(buffer.data(), kTextBytes - 1) != kNvmlSuccess) return {};
  std::string text(buffer.data());
  return IsText(text) ? text : std::string();
}

std::string AddressOf(const PciInfo& pci) {
  return ToString(PciAddress{.domain = pci.domain,
                             .bus = static_cast<std::uint8_t>(pci.bus),
                             .device = static_cast<std::uint8_t>(pci.device),
                             .function = 0});
}

// "12.4" of 12040.
std::string CudaVersion(const Library& library) {
  int version = 0;
  if (library.cuda_version == nullptr || library.cuda_version(&version) != kNvmlSuccess) return {};
  return version > 0 ? Format("{}.{}", version / 1000, version % 1000 / 10) : std::string();
}

std::optional<std::uint64_t> LinkErrors(const Library& library, NvmlDevice* device, unsigned link,
                                        int counter) {
  unsigned long long value = 0;
  if (library.link_errors == nullptr ||
      library.link_errors(device, link, counter, &value) != kNvmlSuccess)
    return {};
  return value;
}

ManagedLink ReadLink(const Library& library, NvmlDevice* device, unsigned index, bool active) {
  ManagedLink link{.index = index,
                   .active = active,
                   .remote_pci_address = {},
                   .replay_errors = LinkErrors(library, device, index, kReplayErrors),
                   .recovery_errors = LinkErrors(library, device, index, kRecoveryErrors),
                   .crc_flit_errors = LinkErrors(library, device, index, kCrcFlitErrors),
                   .crc_data_errors = LinkErrors(library, device, index, kCrcDataErrors)};
  PciInfo remote{};
  if (active && library.link_remote != nullptr &&
      library.link_remote(device, index, &remote) == kNvmlSuccess)
    link.remote_pci_address = AddressOf(remote);
  return link;
}

Result<ManagedGpu> ReadGpu(const Library& library, unsigned index) {
  NvmlDevice* device = nullptr;
  if (const Answer code = library.device(index, &device); code != kNvmlSuccess)
    return library.Error(Format("GPU {}", index), code);
  PciInfo pci{};
  if (const Answer code = library.pci_info(device, &pci); code != kNvmlSuccess)
    return library.Error(Format("PCI address of GPU {}", index), code);
  ManagedGpu gpu{
      .pci_address = AddressOf(pci),
      .name = TextOf([&](char* to, unsigned bytes) { return library.name(device, to, bytes); }),
      .uuid = TextOf([&](char* to, unsigned bytes) { return library.uuid(device, to, bytes); }),
      .board_part_number = {},
      .links = {}};
  if (library.board_part_number != nullptr)
    gpu.board_part_number = TextOf(
        [&](char* to, unsigned bytes) { return library.board_part_number(device, to, bytes); });
  for (unsigned link = 0; link < kLinksMax; ++link) {
    unsigned active = 0;  // NVML_FEATURE_ENABLED
    if (library.link_state(device, link, &active) == kNvmlSuccess)
      gpu.links.push_back(ReadLink(library, device, link, active == 1));
  }
  return gpu;
}

class MachineGpuManagement final : public GpuManagement {
 public:
  explicit MachineGpuManagement(std::string library) : library_(std::move(library)) {}

  Result<GpuManagementInfo> Read() override {
    ASSIGN_OR_RETURN(const Library library, Library::Load(library_));
    const Session session(library);
    if (session.code() != kNvmlSuccess) return library.Error("nvmlInitWithFlags", session.code());
    GpuManagementInfo info{.driver_version = TextOf(library.driver_version),
                           .library_version = TextOf(library.library_version),
                           .cuda_version = CudaVersion(library),
                           .gpus = {},
                           .failures = {}};
    unsigned count = 0;
    if (const Answer code = library.device_count(&count); code != kNvmlSuccess)
      return library.Error("counting GPUs", code);
    for (unsigned index = 0; index < count && index < kGpusMax; ++index) {
      // One that has fallen off the bus does not hide the others.
      if (Result<ManagedGpu> gpu = ReadGpu(library, index); gpu.ok())
        info.gpus.push_back(*std::move(gpu));
      else
        info.failures.push_back(gpu.status());
    }
    return info;
  }

 private:
  std::string library_;
};

class CapturedGpuManagement final : public GpuManagement {
 public:
  Result<GpuManagementInfo> Read() override {
    return Status(Code::kUnimplemented, "NVML needs the live machine");
  }
};

}  // namespace

std::unique_ptr<GpuManagement> OpenGpuManagement(std::string library) {
  return std::make_unique<MachineGpuManagement>(std::move(library));
}
std::unique_ptr<GpuManagement> NoGpuManagement() {
  return std::make_unique<CapturedGpuManagement>();
}

}  // namespace fabric::host
