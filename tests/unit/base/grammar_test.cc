#include "base/grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabric {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(ParseHostPort, TakesAddressesAndNames) {
  struct Row {
    const char* text;
    HostPort want;
  };
  for (const Row& row : {Row{"127.0.0.1:9418", {"127.0.0.1", 9418}}, Row{"[::1]:0", {"::1", 0}},
                         Row{"[fe80::1%eth0]:1", {"fe80::1%eth0", 1}},
                         Row{"n1.example-2:65535", {"n1.example-2", 65535}}}) {
    const auto got = ParseHostPort(row.text);
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_EQ(*got, row.want);
    EXPECT_EQ(ToString(*got), row.text);
  }
}

TEST(ParseHostPort, SaysWhatIsWrong) {
  struct Row {
    const char* text;
    const char* why;
  };
  for (const Row& row :
       {Row{"", "port is missing"}, Row{"localhost", "port is missing"},
        Row{"[::1]", "port is missing"}, Row{":9418", "host name"}, Row{"1.2.3:1", "host name"},
        Row{"1.2.3.256:1", "host name"}, Row{"::1:5", "brackets"}, Row{"[1.2.3.4]:5", "IPv6"},
        Row{"a b:1", "host name"}, Row{"h:65536", "65535"}, Row{"h:", "65535"},
        Row{"h:-1", "65535"}}) {
    const auto got = ParseHostPort(row.text);
    ASSERT_FALSE(got.ok()) << row.text;
    EXPECT_THAT(got.status().message(), HasSubstr(row.why)) << row.text;
  }
}

TEST(ParseDuration, TakesUnitsAndFractions) {
  EXPECT_EQ(*ParseDuration("1s"), 1s);
  EXPECT_EQ(*ParseDuration("200ms"), 200ms);
  EXPECT_EQ(*ParseDuration("1.5m"), 90s);
  EXPECT_EQ(*ParseDuration("7ns"), 7ns);
  EXPECT_EQ(*ParseDuration("30d"), 720h);
  for (const char* bad : {"", "1", "s", "-1s", "1 s", "1..5s", "999999999999h", "1e3s", "."})
    EXPECT_EQ(ParseDuration(bad).status().code(), Code::kInvalidArgument) << bad;
}

TEST(ParseDuration, ReadsBackWhatIsPrinted) {
  for (const char* text : {"0s", "1s", "200ms", "90s", "1500us", "2h", "7ns"})
    EXPECT_EQ(*ParseDuration(ToString(*ParseDuration(text))), *ParseDuration(text));
  EXPECT_EQ(ToString(60s), "1m");
}

}  // namespace
}  // namespace fabric
