#include "ctl/tables/cells.h"

#include "base/text.h"
#include "proto/names.h"
#include "proto/timestamps.h"

namespace fabric::ctl {

std::string Cell(std::string_view text) {
  return std::string(text.empty() || text == "?" ? kAbsent : text);
}

std::string NumberCell(bool present, std::uint64_t number) {
  return present ? Format("{}", number) : std::string(kAbsent);
}

std::string RateCell(bool present, std::uint64_t bits_per_second) {
  return present ? BitRate(static_cast<double>(bits_per_second)) : std::string(kAbsent);
}

std::string AgeCell(const google::protobuf::Timestamp& then, WallTime now) {
  if (Nanoseconds(then) == 0) return std::string(kAbsent);
  const auto seconds = std::max<std::int64_t>(
      0, std::chrono::floor<std::chrono::seconds>(now - FromProto(then)).count());
  if (seconds < 120) return Format("{}s", seconds);
  if (seconds < 2 * 3600) return Format("{}m", seconds / 60);
  if (seconds < 48 * 3600) return Format("{}h", seconds / 3600);
  return Format("{}d", seconds / 86400);
}

}  // namespace fabric::ctl
