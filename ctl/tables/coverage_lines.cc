#include "ctl/tables/coverage_lines.h"

#include <algorithm>
#include <vector>

#include "base/lists.h"
#include "base/text.h"

namespace fabric::ctl {
namespace {

constexpr int kReasonsMax = 8;
constexpr std::size_t kNamesMax = 4;

std::string RulesLine(const v1::Coverage& coverage) {
  std::string line = Format("Coverage: {} judged", Plural(coverage.rules_judged(), "rule"));
  if (coverage.rules_not_applicable() > 0)
    line += Format(", {} not applicable", coverage.rules_not_applicable());
  if (coverage.rules_without_rates() > 0)
    line += Format(", {} without counter rates (two reports at least 10 s apart)",
                   coverage.rules_without_rates());
  return line + ".\n";
}

std::string ReasonLine(const v1::UnreadReason& unread) {
  const std::vector<std::string> rules(unread.rules().begin(), unread.rules().end());
  // 0: about a subnet
  const std::string nodes =
      unread.nodes() == 0 ? "" : Format(" on {}", Plural(unread.nodes(), "node"));
  return Format("  {}{}: {} ({})\n", Plural(unread.verdicts(), "verdict"), nodes, unread.reason(),
                ListSome(rules, kNamesMax));
}

std::string MissingLine(const v1::Coverage& coverage) {
  const auto& missing = coverage.expectations_missing();
  const std::vector<std::string> names(missing.begin(), missing.end());
  return Format("{} missing: {}. Run `fabricctl profile infer`.\n",
                Plural(names.size(), "expectation"), ListSome(names, kNamesMax));
}

}  // namespace

std::string CoverageLines(const v1::Coverage& coverage) {
  if (coverage.ByteSizeLong() == 0) return {};
  std::string lines = RulesLine(coverage);
  if (!coverage.unread().empty()) lines += "Unknown, by reason:\n";
  const int shown = std::min(kReasonsMax, coverage.unread_size());
  for (int i = 0; i < shown; ++i) lines += ReasonLine(coverage.unread(i));
  if (shown < coverage.unread_size())
    lines += Format("  and {} more reasons\n", coverage.unread_size() - shown);
  if (!coverage.expectations_missing().empty()) lines += MissingLine(coverage);
  return lines;
}

}  // namespace fabric::ctl
