#include "daemon/api/rest/rest_text.h"

#include <gtest/gtest.h>

namespace fabric::api {
namespace {

TEST(PercentDecode, TurnsEscapesIntoBytes) {
  EXPECT_EQ(*PercentDecode("a%2Fb%20c", false), "a/b c");
  EXPECT_EQ(*PercentDecode("a+b", false), "a+b");
  EXPECT_EQ(*PercentDecode("a+b", true), "a b");
  EXPECT_EQ(*PercentDecode("%c3%a9", false), "\xc3\xa9");
  EXPECT_EQ(*PercentDecode("", false), "");
}

TEST(PercentDecode, RefusesBrokenEscapesAndWhatIsNotUtf8) {
  for (const char* bad : {"%", "%2", "a%zz", "%0x", "%x0", "%ff", "%c0%af", "%ed%a0%80"})
    EXPECT_EQ(PercentDecode(bad, false).status().code(), Code::kInvalidArgument) << bad;
}

TEST(ErrorJson, EscapesWhatJsonCannotHold) {
  EXPECT_EQ(ErrorJson({Code::kNotFound, "a\"b\\c\n"}),
            R"({"code":5,"message":"a\"b\\c\n","status":"NOT_FOUND"})");
  EXPECT_EQ(ErrorJson({Code::kNotFound, "\xff!"}),
            "{\"code\":5,\"message\":\"\xef\xbf\xbd!\",\"status\":\"NOT_FOUND\"}");
}

TEST(ErrorJson, HasCodeMessageAndName) {
  EXPECT_EQ(ErrorJson({Code::kNotFound, "no node 'n9'"}),
            "{\"code\":5,\"message\":\"no node 'n9'\",\"status\":\"NOT_FOUND\"}");
}

}  // namespace
}  // namespace fabric::api
