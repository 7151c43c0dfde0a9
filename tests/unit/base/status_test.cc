#include "base/status.h"

#include <gtest/gtest.h>

namespace fabric {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return Status(Code::kInvalidArgument, "odd");
  return value / 2;
}

Result<int> Quarter(int value) {
  ASSIGN_OR_RETURN(const int half, Half(value));
  return Half(half);
}

TEST(Status, PutsContextInFront) {
  const Status status = FromErrno(ENOENT, "sys/class/net").In("inspecting n7");
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.message(), "inspecting n7: sys/class/net: No such file or directory");
  EXPECT_TRUE(Status().In("anything").ok());
}

TEST(Status, EinvalMeansThatTheDriverDoesNotReport) {
  EXPECT_EQ(FromErrno(EINVAL, "x").code(), Code::kUnimplemented);
  EXPECT_EQ(FromErrno(EACCES, "x").code(), Code::kPermissionDenied);
}

TEST(Result, PassesTheFirstFailureOn) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(6).status().message(), "odd");
  EXPECT_EQ(CodeName(Quarter(6).status().code()), "INVALID_ARGUMENT");
}

}  // namespace
}  // namespace fabric
