#include "ctl/tables/cells.h"

#include "base/text.h"
#include "proto/names.h"

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

}  // namespace fabric::ctl
