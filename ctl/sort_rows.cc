// Option --sort-by.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "base/lists.h"
#include "base/suggest.h"
#include "base/text.h"
#include "ctl/render.h"
#include "ctl/tables/cells.h"

namespace fabric::ctl {
namespace {

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// "RDMA MTU" is rdma-mtu or rdma_mtu on the command line.
std::string OptionWord(std::string_view title) {
  std::string word = LowerCase(title);
  std::ranges::replace(word, ' ', '-');
  std::ranges::replace(word, '_', '-');
  return word;
}

// "400 Gb/s", "5.10", "17 %": the number with its prefix of 1000. Names such as "4n1" have none.
std::optional<double> Quantity(const std::string& cell) {
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  if (end == cell.c_str()) return {};
  const std::string_view unit = end;
  if (unit.empty() || unit == " %") return value;
  if (!unit.starts_with(' ') || unit.size() < 2) return {};
  constexpr std::string_view kPrefixes = "kMGT";
  const std::size_t at = unit.size() > 2 ? kPrefixes.find(unit[1]) : std::string_view::npos;
  double scaled = value;
  for (std::size_t n = 0; at != std::string_view::npos && n <= at; ++n) scaled *= 1000;
  return scaled;
}

bool CellLess(const std::string& one, const std::string& other) {
  const auto a = Quantity(one);
  const auto b = Quantity(other);
  return a && b ? *a < *b : NaturalLess(one, other);
}

template <class T>
void Reorder(const std::vector<std::size_t>& order, std::vector<T>& items) {
  std::vector<T> sorted;
  for (const std::size_t i : order) sorted.push_back(std::move(items[i]));
  items = std::move(sorted);
}

std::vector<std::size_t> Order(const Table& table, std::size_t column, bool descending) {
  std::vector<std::size_t> order(table.rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t one, std::size_t other) {
    const std::string& a = table.rows[one][column];
    const std::string& b = table.rows[other][column];
    if (a == kAbsent || b == kAbsent) return a != kAbsent && b == kAbsent;
    return descending ? CellLess(b, a) : CellLess(a, b);
  });
  return order;
}

}  // namespace

Status SortRows(std::string_view column, Output& output) {
  const bool descending = column.starts_with('-');
  const std::string wanted = OptionWord(descending ? column.substr(1) : column);
  bool found = false;
  std::vector<std::string> known;
  const bool names_are_rows =
      output.tables.size() == 1 && output.names.size() == output.tables[0].rows.size();
  for (Table& table : output.tables)
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      known.push_back(OptionWord(table.columns[i].title));
      if (known.back() != wanted) continue;
      found = true;
      const std::vector<std::size_t> order = Order(table, i, descending);
      Reorder(order, table.rows);
      if (names_are_rows) Reorder(order, output.names);
    }
  if (found) return {};
  return {Code::kInvalidArgument,
          Format("--sort-by: {}", UnknownName("column", wanted, {known.begin(), known.end()},
                                              Format("; expected one of {}", Join(known, ", "))))};
}

}  // namespace fabric::ctl
