#include "base/cron.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace fabric {
namespace {

using std::chrono::minutes;
using std::chrono::sys_days;
using std::chrono::year;
using ::testing::HasSubstr;

WallTime At(int y, unsigned month, unsigned day, int hour, int minute) {
  return sys_days(year(y) / month / day) + minutes(60 * hour + minute);
}

struct CronRow {
  const char* text;
  WallTime after;
  WallTime next;
};

TEST(Cron, FindsTheNextTime) {
  const WallTime tuesday = At(2026, 11, 24, 1, 30);
  const CronRow rows[] = {
      {"* * * * *", tuesday, At(2026, 11, 24, 1, 31)},
      {"30 1 * * *", tuesday, At(2026, 11, 25, 1, 30)},
      {"*/15 * * * *", tuesday, At(2026, 11, 24, 1, 45)},
      {"5-10/5,40 2 * * *", tuesday, At(2026, 11, 24, 2, 5)},
      {"0 0 1 1 *", tuesday, At(2027, 1, 1, 0, 0)},
      {"0 3 * * 7", tuesday, At(2026, 11, 29, 3, 0)},
      {"0 3 * * 0", tuesday, At(2026, 11, 29, 3, 0)},
      {"0 3 30 * 5", tuesday, At(2026, 11, 27, 3, 0)},  // The 30th or a Friday
      {"0 3 */2 * 5", tuesday, At(2026, 11, 27, 3, 0)},
      {"0 0 29 2 *", tuesday, At(2028, 2, 29, 0, 0)},
      {"0 0 29 2 *", At(2096, 3, 1, 0, 0), At(2104, 2, 29, 0, 0)},
      {"59 23 31 12 *", At(2026, 12, 31, 23, 59), At(2027, 12, 31, 23, 59)},
  };
  for (const CronRow& row : rows) {
    const auto cron = CronExpression::Parse(row.text);
    ASSERT_TRUE(cron.ok()) << row.text << ": " << cron.status().message();
    const auto next = cron->Next(row.after);
    ASSERT_TRUE(next.has_value()) << row.text;
    EXPECT_EQ(*next, row.next) << row.text;
  }
}

TEST(Cron, HasNoTimeForADateThatDoesNotExist) {
  const auto cron = CronExpression::Parse("0 0 30 2 *");
  ASSERT_TRUE(cron.ok());
  EXPECT_FALSE(cron->Next(At(2026, 1, 1, 0, 0)).has_value());
}

TEST(Cron, RefusesWithTheFieldAndTheValue) {
  const struct {
    const char* text;
    const char* message;
  } rows[] = {
      {"", "expected 5 fields (minute, hour, day of month, month, day of week), saw 0"},
      {"@daily", "saw 1"},
      {"* * * * * *", "saw 6"},
      {"60 * * * *", "cron: minute: expected *, or 0 to 59"},
      {"* 24 * * *", "cron: hour: expected *, or 0 to 23"},
      {"* * 0 * *", "cron: day of month: expected *, or 1 to 31"},
      {"* * * JAN *", "saw 'JAN'"},
      {"* * * * 8", "cron: day of week"},
      {"5-1 * * * *", "saw '5-1'"},
      {"*/0 * * * *", "saw '*/0'"},
      {"5/2 * * * *", "saw '5/2'"},
      {"1,,2 * * * *", "saw ''"},
      {"-1 * * * *", "saw '-1'"},
      {"4294967297 * * * *", "saw '4294967297'"},
  };
  for (const auto& row : rows) {
    const auto cron = CronExpression::Parse(row.text);
    ASSERT_FALSE(cron.ok()) << row.text;
    EXPECT_THAT(cron.status().message(), HasSubstr(row.message)) << row.text;
  }
  EXPECT_THAT(CronExpression::Parse(std::string(300, '*')).status().message(),
              HasSubstr("at most 256 bytes, saw 300"));
}

}  // namespace
}  // namespace fabric
