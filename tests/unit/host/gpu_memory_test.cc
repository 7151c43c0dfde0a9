#include "agents/host/gpu/gpu_memory.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>

namespace fabric::host {
namespace {

using ::testing::HasSubstr;

// A library made of fake_cuda.cc or fake_hip.cc, beside this program.
std::string Fake(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() /
         ("libfake_" + name + ".so");
}

std::unique_ptr<GpuMemory> With(const std::string& cuda, const std::string& hip,
                                const std::string& hsa = "libno-such-hsa.so.1") {
  return OpenGpuMemory({.cuda = {cuda}, .hip = {"libno-such-hip.so.7", hip}, .hsa = {hsa}});
}

// What the fake of CUDA has not got back.
int LeftInCuda(const std::string& name) {
  void* const library = ::dlopen(Fake(name).c_str(), RTLD_NOW);
  int (*left)() = nullptr;
  if (library != nullptr) left = reinterpret_cast<int (*)()>(::dlsym(library, "fakeLeft"));
  return left == nullptr ? -1 : left();
}

TEST(GpuMemory, CudaGivesZeroedMemoryAndTakesItBack) {
  const auto memory = With(Fake("cuda"), "libno-such-library.so");
  {
    auto buffer = memory->Allocate("0000:1b:00.0", "10de", 100'000);
    ASSERT_TRUE(buffer.ok()) << buffer.status().message();
    const auto* const bytes = reinterpret_cast<const char*>((*buffer)->address());
    EXPECT_EQ(bytes[0], 0);
    EXPECT_EQ(bytes[99'999], 0);
    const auto exported = (*buffer)->Export();
    ASSERT_TRUE(exported.ok()) << exported.status().message();
    EXPECT_GE(exported->file.get(), 0);
    EXPECT_EQ(exported->offset, 0u);
    EXPECT_EQ(LeftInCuda("cuda"), 2) << "a context and the memory";
  }
  EXPECT_EQ(LeftInCuda("cuda"), 0);
}

TEST(GpuMemory, CudaSaysWhatItSays) {
  const auto memory = With(Fake("cuda"), "libno-such-library.so");
  EXPECT_EQ(memory->Allocate("0000:1c:00.0", "10de", 4096).status(),
            Status(Code::kUnavailable,
                   "cuDeviceGetByPCIBusId 0000:1c:00.0: no CUDA-capable device is detected "
                   "(CUDA_ERROR_NO_DEVICE)"));
  EXPECT_EQ(memory->Allocate("0000:1b:00.0", "10de", std::size_t{2} << 30).status().message(),
            "cuMemAlloc of 2147483648: something else (CUDA_ERROR_OUT_OF_MEMORY)");
  EXPECT_EQ(LeftInCuda("cuda"), 0);
}

TEST(GpuMemory, CudaBeforeDmaBufsSaysSo) {
  const auto memory = With(Fake("cuda_old"), "libno-such-library.so");
  auto buffer = memory->Allocate("0000:1b:00.0", "10de", 4096);
  ASSERT_TRUE(buffer.ok()) << buffer.status().message();
  EXPECT_EQ((*buffer)->Export().status().code(), Code::kUnimplemented);
}

TEST(GpuMemory, HipGivesMemoryAndADmaBufByHsa) {
  const auto memory = With("libno-such-library.so", Fake("hip"), Fake("hip"));
  auto buffer = memory->Allocate("0000:c1:00.0", "1002", 100'000);
  ASSERT_TRUE(buffer.ok()) << buffer.status().message();
  EXPECT_EQ(reinterpret_cast<const char*>((*buffer)->address())[99'999], 0);
  const auto exported = (*buffer)->Export();
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  EXPECT_EQ(exported->offset, 4096u);
  EXPECT_EQ(memory->Allocate("0000:c2:00.0", "1002", 4096).status().message(),
            "hipDeviceGetByPCIBusId 0000:c2:00.0: no ROCm-capable device is detected (100)");
}

TEST(GpuMemory, HipWithoutHsaExportsItself) {
  const auto memory = With("libno-such-library.so", Fake("hip_no_hsa"));
  auto buffer = memory->Allocate("0000:c1:00.0", "1002", 4096);
  ASSERT_TRUE(buffer.ok()) << buffer.status().message();
  const auto exported = (*buffer)->Export();
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  EXPECT_EQ(exported->offset, 0u);

  const auto old = With("libno-such-library.so", Fake("hip_old"));
  auto other = old->Allocate("0000:c1:00.0", "1002", 4096);
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ((*other)->Export().status().code(), Code::kUnimplemented);
}

TEST(GpuMemory, WithoutTheLibraryTheLinkersWordsAreTold) {
  const auto memory = With("libno-such-cuda.so.1", "libno-such-library.so");
  const Status cuda = memory->Allocate("0000:1b:00.0", "10de", 4096).status();
  EXPECT_EQ(cuda.code(), Code::kNotFound);
  EXPECT_THAT(cuda.message(), HasSubstr("libno-such-cuda.so.1"));
  EXPECT_THAT(memory->Allocate("0000:c1:00.0", "1002", 4096).status().message(),
              HasSubstr("libno-such-hip.so.7"));
}

TEST(GpuMemory, OtherLibrariesAndVendorsAreRefused) {
  const auto memory = With("libm.so.6", "libm.so.6");
  for (const char* vendor : {"10de", "1002", "8086", ""})
    EXPECT_EQ(memory->Allocate("0000:1b:00.0", vendor, 4096).status().code(), Code::kUnimplemented)
        << vendor;
}

}  // namespace
}  // namespace fabric::host
