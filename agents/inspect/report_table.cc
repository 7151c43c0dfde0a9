#include "agents/inspect/report_table.h"

#include <algorithm>

namespace fabric::inspect {
namespace {

constexpr std::size_t kColumnGap = 2;

}  // namespace

std::string OrAbsent(std::string_view text) {
  return std::string(text.empty() ? kAbsent : text);
}

std::string RateIf(bool there, std::uint64_t bps) {
  return there ? BitRate(static_cast<double>(bps)) : std::string(kAbsent);
}

std::string Section::Text(std::string_view empty) const {
  std::string text = title_ + "\n";
  if (rows_.size() == 1) return text + Format("  {}\n\n", empty);
  std::vector<std::size_t> widths(rows_[0].size());
  for (const auto& row : rows_)
    for (std::size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], row[column].size());
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column)
      line += Format("{:<{}}", row[column], widths[column] + kColumnGap);
    text += "  " + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text + "\n";
}

const v1::NetInterface* FindNetdev(const v1::NodeSnapshot& snapshot, const std::string& name) {
  for (const v1::NetInterface& netdev : snapshot.net_interfaces())
    if (netdev.name() == name) return &netdev;
  return nullptr;
}

}  // namespace fabric::inspect
