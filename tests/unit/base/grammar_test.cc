#include "base/grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

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

TEST(ParseSize, AcceptsUnitsAndFractions) {
  struct Row {
    const char* text;
    std::uint64_t want;
  };
  constexpr std::uint64_t kMiB = 1 << 20;
  for (const Row& row :
       {Row{"0", 0}, Row{"4096", 4096}, Row{"4096B", 4096}, Row{"64K", 65536}, Row{"64KiB", 65536},
        Row{"64kib", 65536}, Row{"8M", 8 * kMiB}, Row{"8m", 8 * kMiB}, Row{"1.5MiB", 3 * kMiB / 2},
        Row{"1GiB", 1024 * kMiB}, Row{"2T", 2 * 1024 * 1024 * kMiB},
        Row{"18446744073709551615", UINT64_MAX}}) {
    const auto got = ParseSize(row.text);
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_EQ(*got, row.want) << row.text;
  }
}

TEST(ParseSize, RejectsOtherTexts) {
  for (const char* bad :
       {"",          "M",    "-1",  "+1",    "8 M",   "8MB",  "8Mi", "8iB",
        "8BiB",      "0.3K", "1.5", "1..5K", "1e3",   "0x10", "8M ", "18446744073709551616",
        "20000000T", "nan",  "inf", ".",     "64KiBB"}) {
    const auto got = ParseSize(bad);
    ASSERT_FALSE(got.ok()) << bad;
    EXPECT_EQ(got.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(got.status().message(),
              Format("expected a size in bytes such as 4096, 64KiB or 8M, saw '{}'", bad));
  }
}

TEST(ParseDuration, ReadsBackWhatIsPrinted) {
  for (const char* text : {"0s", "1s", "200ms", "90s", "1500us", "2h", "7ns"})
    EXPECT_EQ(*ParseDuration(ToString(*ParseDuration(text))), *ParseDuration(text));
  EXPECT_EQ(ToString(60s), "1m");
}

}  // namespace
}  // namespace fabric
