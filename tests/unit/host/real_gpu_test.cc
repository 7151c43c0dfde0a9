// NVML, CUDA allocations and dma-buf exports on the NVIDIA GPUs of this machine. SKIPPED on a
// machine without them.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "agents/host/gpu/gpu_memory.h"
#include "agents/host/gpu/nvml.h"

namespace fabric::host {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::size_t kBytes = std::size_t{8} << 20;
constexpr const char* kNvidia = "10de";

std::size_t GpusOfTheDriver() {
  std::error_code none;
  const std::filesystem::directory_iterator gpus("/proc/driver/nvidia/gpus", none);
  return static_cast<std::size_t>(std::distance(begin(gpus), end(gpus)));
}

class RealGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto info = OpenGpuManagement()->Read();
    if (!info.ok()) GTEST_SKIP() << "no NVIDIA GPU: " << info.status().message();
    info_ = *info;
    ASSERT_THAT(info_.gpus, SizeIs(GpusOfTheDriver())) << "NVML and the driver list the same GPUs";
    if (info_.gpus.empty()) GTEST_SKIP() << "the driver has no GPU";
  }

  GpuManagementInfo info_;
};

// Copies GPU memory to the host with the driver library, independently of the code under test.
// Empty: the copy failed.
std::vector<unsigned char> Copied(std::uint64_t address, std::size_t bytes) {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return {};
  using Device = int;
  struct Context;
  const auto retain =
      reinterpret_cast<int (*)(Context**, Device)>(::dlsym(library, "cuDevicePrimaryCtxRetain"));
  const auto push = reinterpret_cast<int (*)(Context*)>(::dlsym(library, "cuCtxPushCurrent_v2"));
  const auto pop = reinterpret_cast<int (*)(Context**)>(::dlsym(library, "cuCtxPopCurrent_v2"));
  const auto copy = reinterpret_cast<int (*)(void*, std::uint64_t, std::size_t)>(
      ::dlsym(library, "cuMemcpyDtoH_v2"));
  Context* context = nullptr;
  std::vector<unsigned char> out(bytes, 0xa5);
  if (retain(&context, 0) != 0 || push(context) != 0) return {};
  const int code = copy(out.data(), address, bytes);
  (void)pop(&context);
  return code == 0 ? out : std::vector<unsigned char>();
}

std::string FdInfo(int file) {
  std::ifstream in("/proc/self/fdinfo/" + std::to_string(file));
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(RealGpu, ManagementLibraryReadsEachGpu) {
  EXPECT_THAT(info_.failures, IsEmpty());
  EXPECT_FALSE(info_.driver_version.empty());
  EXPECT_FALSE(info_.cuda_version.empty());
  for (const ManagedGpu& gpu : info_.gpus) {
    SCOPED_TRACE(gpu.pci_address);
    EXPECT_TRUE(std::filesystem::exists("/sys/bus/pci/devices/" + gpu.pci_address));
    EXPECT_THAT(gpu.name, HasSubstr("NVIDIA"));
    EXPECT_THAT(gpu.uuid, ::testing::StartsWith("GPU-"));
    RecordProperty("gpu", gpu.name + ", driver " + info_.driver_version);
  }
}

TEST_F(RealGpu, MemoryIsZeroedAndFreed) {
  const auto memory = OpenGpuMemory();
  for (int i = 0; i < 3; ++i) {
    const auto buffer = memory->Allocate(info_.gpus.front().pci_address, kNvidia, kBytes);
    ASSERT_TRUE(buffer.ok()) << buffer.status().message();
    EXPECT_EQ((*buffer)->address() % (64 << 10), 0U) << "peer memory needs pages of 64 KiB";
    const std::vector<unsigned char> bytes = Copied((*buffer)->address(), kBytes);
    ASSERT_EQ(bytes.size(), kBytes);
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 0), static_cast<std::ptrdiff_t>(kBytes));
  }
}

TEST_F(RealGpu, MemoryIsExportedAsADmaBuf) {
  const auto buffer = OpenGpuMemory()->Allocate(info_.gpus.front().pci_address, kNvidia, kBytes);
  ASSERT_TRUE(buffer.ok()) << buffer.status().message();
  const auto exported = (*buffer)->Export();
  if (!exported.ok()) {
    // Drivers without dma-buf (proprietary kernel modules, some virtual machines) refuse it.
    EXPECT_THAT(exported.status().message(), HasSubstr("cuMemGetHandleForAddressRange"));
    GTEST_SKIP() << exported.status().message();
  }
  struct stat about = {};
  ASSERT_EQ(::fstat(exported->file.get(), &about), 0);
  EXPECT_EQ(about.st_size, static_cast<off_t>(kBytes));
  EXPECT_THAT(FdInfo(exported->file.get()), HasSubstr("exp_name:")) << "a dma-buf says who made it";
}

TEST_F(RealGpu, AnUnknownAddressIsRefusedByTheDriver) {
  EXPECT_THAT(OpenGpuMemory()->Allocate("0000:ff:1f.0", kNvidia, kBytes).status().message(),
              HasSubstr("cuDeviceGetByPCIBusId 0000:ff:1f.0"));
}

TEST_F(RealGpu, MoreThanItsMemoryIsRefused) {
  const auto refused =
      OpenGpuMemory()->Allocate(info_.gpus.front().pci_address, kNvidia, std::size_t{1} << 41);
  EXPECT_THAT(refused.status().message(), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
}

}  // namespace
}  // namespace fabric::host
