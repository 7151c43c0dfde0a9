// What the sections of the report for people have in common: aligned columns, "-" for what is not
// known. Each area of more than a few lines has its section in its own report_<area>.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "fabric/v1/inventory.pb.h"
#include "proto/names.h"

namespace fabric::inspect {

inline constexpr std::string_view kAbsent = "-";

std::string OrAbsent(std::string_view text);
std::string RateIf(bool there, std::uint64_t bps);

template <class T>
std::string NumberIf(bool there, const T& value) {
  return there ? Format("{}", value) : std::string(kAbsent);
}

template <class Enum>
std::string NameIf(bool there, Enum value) {
  return std::string(there ? Name(value) : kAbsent);
}

// Columns as wide as their widest cell, two blanks apart; the last one is not filled up.
class Section {
 public:
  Section(std::string title, std::vector<std::string> header)
      : title_(std::move(title)), rows_{std::move(header)} {}

  // As many cells as the header has.
  void Row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  // With a blank line behind it. `empty` is the line printed where there are no rows.
  std::string Text(std::string_view empty) const;

 private:
  std::string title_;
  std::vector<std::vector<std::string>> rows_;
};

// Null when the snapshot has no such netdev.
const v1::NetInterface* FindNetdev(const v1::NodeSnapshot& snapshot, const std::string& name);

}  // namespace fabric::inspect
