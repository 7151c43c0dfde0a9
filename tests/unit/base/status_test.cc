#include "base/status.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

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

// Otherwise a loop over the value of a temporary would read freed memory.
TEST(Result, GivesTheValueOfATemporaryByValue) {
  static_assert(std::is_same_v<decltype(*Quarter(12)), int>);
  std::string seen;
  for (const std::string& word : *Result<std::vector<std::string>>({"rail0", "rail1"}))
    seen += word;
  EXPECT_EQ(seen, "rail0rail1");
}

}  // namespace
}  // namespace fabric
