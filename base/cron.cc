#include "base/cron.h"

#include <array>
#include <chrono>
#include <vector>

#include "base/text.h"

namespace fabric {
namespace {

struct CronField {
  std::string_view name;
  std::uint32_t min;
  std::uint32_t max;
};

constexpr std::array kCronFields = {CronField{"minute", 0, 59}, CronField{"hour", 0, 23},
                                    CronField{"day of month", 1, 31}, CronField{"month", 1, 12},
                                    CronField{"day of week", 0, 7}};
constexpr int kCronDaysMax = 8 * 366 + 1;  // From one 29 February to the next, around the year 2100

using CronValues = std::bitset<60>;

Status WrongCron(const CronField& field, std::string_view seen) {
  return {Code::kInvalidArgument,
          Format("cron: {}: expected *, or {} to {}, as in 5, 1-5, 1,3 or */2, saw {}", field.name,
                 field.min, field.max, Quoted(seen))};
}

std::optional<std::uint32_t> CronNumber(std::string_view text, std::uint32_t min,
                                        std::uint32_t max) {
  const auto number = ParseNumber<std::uint32_t>(text);
  if (!number.ok() || *number < min || *number > max) return std::nullopt;
  return *number;
}

// One element of a list: "*", "*/15", "5", "1-5", "1-30/2".
Status AddCronElement(const CronField& field, std::string_view text, CronValues& values) {
  const std::size_t slash = text.find('/');
  const std::string_view range = text.substr(0, slash);
  std::uint32_t step = 1;
  if (slash != std::string_view::npos) {
    const auto given = CronNumber(text.substr(slash + 1), 1, field.max);
    if (!given) return WrongCron(field, text);
    step = *given;
  }
  std::uint32_t first = field.min;
  std::uint32_t last = field.max;
  if (range != "*") {
    const std::size_t dash = range.find('-');
    const auto low = CronNumber(range.substr(0, dash), field.min, field.max);
    const auto high = dash == std::string_view::npos
                          ? low
                          : CronNumber(range.substr(dash + 1), field.min, field.max);
    const bool single = dash == std::string_view::npos && slash != std::string_view::npos;
    if (!low || !high || *low > *high || single) return WrongCron(field, text);
    first = *low;
    last = *high;
  }
  for (std::uint32_t value = first; value <= last; value += step) values.set(value);
  return {};
}

Result<CronValues> ParseCronField(const CronField& field, std::string_view text) {
  CronValues values;
  for (const std::string_view element : Split(text, ','))
    RETURN_IF_ERROR(AddCronElement(field, element, values));
  return values;
}

template <std::size_t kSize>
std::bitset<kSize> CronBits(const CronValues& values) {
  return std::bitset<kSize>(values.to_ullong());
}

}  // namespace

Result<CronExpression> CronExpression::Parse(std::string_view text) {
  if (text.size() > kBytesMax)
    return Status(Code::kInvalidArgument,
                  Format("cron: expected at most {} bytes, saw {}", kBytesMax, text.size()));
  const std::vector<std::string_view> words = Words(text);
  if (words.size() != kCronFields.size())
    return Status(Code::kInvalidArgument,
                  Format("cron: expected 5 fields (minute, hour, day of month, month, day of "
                         "week), saw {} in {}",
                         words.size(), Quoted(text)));
  std::array<CronValues, kCronFields.size()> values;
  for (std::size_t n = 0; n < kCronFields.size(); ++n) {
    ASSIGN_OR_RETURN(values[n], ParseCronField(kCronFields[n], words[n]));
  }
  if (values[4].test(7)) values[4].set(0);
  CronExpression result;
  result.minutes_ = values[0];
  result.hours_ = CronBits<24>(values[1]);
  result.days_ = CronBits<32>(values[2]);
  result.months_ = CronBits<13>(values[3]);
  result.week_days_ = CronBits<7>(values[4].reset(7));
  result.any_day_ = words[2].starts_with('*');
  result.any_week_day_ = words[4].starts_with('*');
  return result;
}

bool CronExpression::MatchesDay(std::chrono::sys_days day) const {
  const std::chrono::year_month_day date(day);
  if (!months_.test(static_cast<unsigned>(date.month()))) return false;
  const bool of_month = days_.test(static_cast<unsigned>(date.day()));
  const bool of_week = week_days_.test(std::chrono::weekday(day).c_encoding());
  return any_day_ || any_week_day_ ? of_month && of_week : of_month || of_week;
}

std::optional<WallTime> CronExpression::Next(WallTime after) const {
  using std::chrono::minutes;
  constexpr std::uint32_t kMinutesOfHour = 60;
  const auto first = std::chrono::floor<minutes>(after) + minutes(1);
  const auto start = std::chrono::floor<std::chrono::days>(first);
  for (int n = 0; n < kCronDaysMax; ++n) {
    const std::chrono::sys_days day = start + std::chrono::days(n);
    if (!MatchesDay(day)) continue;
    for (std::uint32_t hour = 0; hour < hours_.size(); ++hour) {
      if (!hours_.test(hour)) continue;
      for (std::uint32_t minute = 0; minute < minutes_.size(); ++minute) {
        const auto time = day + minutes(hour * kMinutesOfHour + minute);
        if (minutes_.test(minute) && time >= first) return WallTime(time);
      }
    }
  }
  return std::nullopt;
}

}  // namespace fabric
