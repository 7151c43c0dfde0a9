// Cron expression: minute, hour, day of month, month, day of week, in UTC.
//
// A field is `*`, a number, a range `1-5`, or a list of these; `/N` takes every N-th value of `*`
// or a range. Day of week: 0 or 7 is Sunday. If both days are restricted, one of them has to match,
// as in crontab(5). Names of months and days, `@daily` and the like are not supported.
#pragma once

#include <bitset>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace fabric {

class CronExpression {
 public:
  static constexpr std::size_t kBytesMax = 256;

  // INVALID_ARGUMENT with the field, the expected and the seen value.
  static Result<CronExpression> Parse(std::string_view text);

  // The first matching minute later than `after`. Absent: none within eight years (30 February).
  std::optional<WallTime> Next(WallTime after) const;

 private:
  bool MatchesDay(std::chrono::sys_days day) const;

  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_;      // 1 to 31
  std::bitset<13> months_;    // 1 to 12
  std::bitset<7> week_days_;  // 0: Sunday
  bool any_day_ = false;      // The field starts with `*`
  bool any_week_day_ = false;
};

}  // namespace fabric
