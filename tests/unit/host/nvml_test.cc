#include "agents/host/gpu/nvml.h"

#include <gmock/gmock.h>

#include <filesystem>

namespace fabric::host {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// The library made of fake_nvml.cc.
std::string FakeNvml() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libfake_nvml.so";
}

TEST(GpuManagement, AsksTheLibraryAndLetsGo) {
  const auto management = OpenGpuManagement(FakeNvml());
  for (int i = 0; i < 2; ++i) {
    const auto info = management->Read();
    ASSERT_TRUE(info.ok()) << info.status().message();
    EXPECT_EQ(info->driver_version, "535.129.03");
    EXPECT_EQ(info->library_version, "12.535.129.03");
    ASSERT_THAT(info->gpus, SizeIs(1));
    EXPECT_EQ(info->gpus[0].pci_address, "0001:1b:00.0");
    EXPECT_EQ(info->gpus[0].name, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(info->gpus[0].uuid, "GPU-5b0c77a4");
    EXPECT_EQ(info->cuda_version, "12.2");
    EXPECT_EQ(info->gpus[0].board_part_number, "692-2G520-0200-000");
    ASSERT_THAT(info->gpus[0].links, SizeIs(18));
    EXPECT_TRUE(info->gpus[0].links[0].active);
    EXPECT_EQ(info->gpus[0].links[0].remote_pci_address, "0000:07:00.0");
    EXPECT_EQ(info->gpus[0].links[0].replay_errors, 0U);
    EXPECT_EQ(info->gpus[0].links[0].recovery_errors, std::nullopt);
    EXPECT_FALSE(info->gpus[0].links[3].active);
    EXPECT_EQ(info->gpus[0].links[3].remote_pci_address, std::nullopt);
    EXPECT_EQ(info->gpus[0].links[5].crc_data_errors, 77U);
    ASSERT_THAT(info->failures, SizeIs(1));
    EXPECT_EQ(info->failures[0], Status(Code::kUnavailable, "GPU 1: GPU is lost (15)"));
  }
}

TEST(GpuManagement, WithoutTheLibraryThereIsNothingToAsk) {
  const auto info = OpenGpuManagement("libno-such-library.so.1")->Read();
  EXPECT_EQ(info.status().code(), Code::kNotFound);
  EXPECT_THAT(info.status().message(), HasSubstr("libno-such-library.so.1"));
}

TEST(GpuManagement, ALibraryWithoutTheFunctionsIsRefused) {
  EXPECT_EQ(OpenGpuManagement("libm.so.6")->Read().status().code(), Code::kUnimplemented);
}

TEST(GpuManagement, ACaptureCannotBeAsked) {
  EXPECT_EQ(NoGpuManagement()->Read().status().code(), Code::kUnimplemented);
}

}  // namespace
}  // namespace fabric::host
