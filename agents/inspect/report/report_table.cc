#include "agents/inspect/report/report_table.h"

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

void Section::Column(std::vector<std::string> cells) {
  for (std::size_t row = 0; row < rows_.size(); ++row) rows_[row].push_back(std::move(cells[row]));
}

std::string Section::Text(std::string_view empty) const {
  if (rows_.size() == 1) return Format("{}\n  {}\n\n", title_, empty);
  return Aligned();
}

std::string Section::Aligned() const {
  std::string text = title_ + "\n";
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

std::string KnownRows(std::string title, std::vector<std::vector<std::string>> rows,
                      std::string_view empty) {
  std::erase_if(rows, [](const auto& row) { return row.back() == kAbsent; });
  if (rows.empty()) return Format("{}\n  {}\n\n", title, empty);
  Section section(std::move(title), std::move(rows.front()));
  for (std::size_t i = 1; i < rows.size(); ++i) section.Row(std::move(rows[i]));
  return section.Aligned();
}

std::string NoneOrUnknown(const v1::NodeSnapshot& snapshot, std::initializer_list<Source> sources,
                          std::string_view none) {
  for (const Source& source : sources)
    for (const v1::Gap& gap : snapshot.gaps())
      if (gap.inspector() == source.inspector && gap.subject().empty() &&
          (source.path.empty() || gap.path().empty() || gap.path() == source.path))
        return Format("unknown: {}{}{}", gap.path(), gap.path().empty() ? "" : ": ", gap.reason());
  return std::string(none);
}

}  // namespace fabric::inspect
