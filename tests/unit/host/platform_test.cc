#include "agents/host/platform.h"

#include <gtest/gtest.h>

#include "agents/host/machine.h"

namespace fabric::host {
namespace {

TEST(Platform, NamesTheHypervisorByItsSignature) {
  EXPECT_EQ(HypervisorOfSignature("KVMKVMKVM\0\0\0"), "kvm");
  EXPECT_EQ(HypervisorOfSignature("Microsoft Hv"), "microsoft");
  EXPECT_EQ(HypervisorOfSignature("something new"), "vm-other");
}

TEST(Platform, ReadsTheClockOfThisMachine) {
  const Result<ClockState> clock = OpenPlatform()->Clock();
  ASSERT_TRUE(clock.ok()) << clock.status().message();
  EXPECT_GE(clock->max_error.count(), 0);
}

}  // namespace
}  // namespace fabric::host
