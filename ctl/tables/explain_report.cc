#include "ctl/tables/explain_report.h"

#include <algorithm>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/finding_table.h"

namespace fabric::ctl {
namespace {

constexpr int kCausesShown = 4;
constexpr std::size_t kLineColumns = 300;
constexpr std::size_t kNamesShown = 3;

std::string_view RoleName(v1::LogRole role) {
  switch (role) {
    case v1::LOG_ROLE_CAUSE: return "cause";
    case v1::LOG_ROLE_FAILURE: return "failure";
    case v1::LOG_ROLE_SLOW: return "slow";
    case v1::LOG_ROLE_NOTICE: return "notice";
    case v1::LOG_ROLE_CONSEQUENCE: return "follows";
    default: return kAbsent;
  }
}

// "line 12", or "rank3.log:12" if there are several files.
template <class Line>
std::string Where(const Line& line, const v1::LogExplanation& explanation) {
  return explanation.files_size() == 1 ? Format("line {}", line.line())
                                       : Format("{}:{}", line.file(), line.line());
}

// "node-3 (rank 17), mlx5_2 -> node-7 (10.2.0.7)"
std::string Who(const v1::LogLine& place) {
  std::string who = place.host();
  if (place.has_rank())
    who += who.empty() ? Format("rank {}", place.rank()) : Format(" (rank {})", place.rank());
  if (!place.hca().empty()) who += (who.empty() ? "" : ", ") + place.hca();
  const std::string& address = place.peer().empty() ? place.remote_gid() : place.peer();
  if (!place.peer_host().empty())
    who += Format(" -> {} ({})", place.peer_host(), address);
  else if (!address.empty())
    who += Format(" -> {}", address);
  return who;
}

template <class List>
std::string Some(const List& names) {
  std::vector<std::string> sorted(names.begin(), names.end());
  std::ranges::sort(sorted, NaturalLess);
  const std::size_t shown = std::min(sorted.size(), kNamesShown);
  std::string text =
      Join({sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(shown)}, ",");
  if (sorted.size() > shown) text += Format(" +{}", sorted.size() - shown);
  return Cell(text);
}

std::string FileLines(const v1::LogExplanation& explanation) {
  std::string text;
  for (const v1::LogFile& file : explanation.files())
    text += Format("{}: {}, {} recognised\n", file.name() == "-" ? "standard input" : file.name(),
                   Plural(file.lines(), "line"), file.recognised());
  return text;
}

std::string FirstFailure(const v1::LogExplanation& explanation, bool wide) {
  const v1::LogLine& place = explanation.first_failure();
  std::string text = Format("\nFirst failure: {}", Where(place, explanation));
  if (!place.time().empty()) text += Format(", {}", place.time());
  const std::string who = Who(place);
  if (!who.empty()) text += Format(", {}", who);
  text += "\n";
  for (const v1::LogProblem& problem : explanation.problems())
    if (problem.first().file() == place.file() && problem.first().line() == place.line()) {
      text += Format("   {}\n   {}\n", problem.title(), problem.meaning());
      break;
    }
  const bool cut = !wide && place.text().size() > kLineColumns;
  return text + Format("   > {}{}\n", cut ? place.text().substr(0, kLineColumns) : place.text(),
                       cut ? "..." : "");
}

// Without `full`, only the cause and how to check it.
std::string CauseText(const v1::LogCause& cause, int number, bool full,
                      const v1::LogExplanation& explanation) {
  std::string text = Format("{}. {}\n", number, cause.what());
  const auto line = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) text += Format("   {:<8} {}\n", name, value);
  };
  for (const v1::LogEvidence& evidence : cause.evidence())
    line("because", evidence.file().empty()
                        ? evidence.text()
                        : Format("{}: {}", Where(evidence, explanation), evidence.text()));
  const auto findings = static_cast<std::uint64_t>(cause.findings_size());
  if (findings > 0)
    line("fabricd", Format("{} now: {}", Plural(findings, "open finding"), cause.rule()));
  else if (full)
    line("rule", cause.rule());
  line("check", cause.check());
  if (full) line("fix", cause.fix());
  return text;
}

// Causes without evidence are shortened if others have evidence.
std::string CauseTexts(const v1::LogExplanation& explanation, bool wide) {
  if (explanation.causes().empty()) return {};
  const auto speaks = [](const v1::LogCause& cause) {
    return !cause.evidence().empty() || !cause.findings().empty();
  };
  const bool any_speaks = std::ranges::any_of(explanation.causes(), speaks);
  std::string text = "\nLikely causes, most likely first\n";
  bool netdev = false;
  bool said = false;
  for (int at = 0; at < explanation.causes_size(); ++at) {
    if (at == kCausesShown && !wide) {
      text += Format("   and {} more (-o wide)\n", explanation.causes_size() - at);
      break;
    }
    const v1::LogCause& cause = explanation.causes(at);
    const bool shortly = any_speaks && at > 0 && !speaks(cause) && !wide;
    if (shortly && !said) text += "No evidence in the log for these:\n";
    said = said || shortly;
    const std::string cause_text = CauseText(cause, at + 1, !shortly, explanation);
    netdev = netdev || cause_text.find("NETDEV") != std::string::npos;
    text += cause_text;
  }
  if (netdev) text += "   (NETDEV: the network interface of the HCA in \"rdma link show\")\n";
  return text;
}

Table MessageTable(const v1::LogExplanation& explanation) {
  Table table{.title = "Messages in the logs, closest to the root cause first",
              .columns = {{.title = "COUNT", .right_aligned = true},
                          {.title = "FIRST"},
                          {.title = "KIND"},
                          {.title = "HOSTS"},
                          {.title = "HCAS"},
                          {.title = "PEERS"},
                          {.title = "WHAT", .elastic = true},
                          {.title = "RANKS", .wide_only = true},
                          {.title = "LIBRARY", .wide_only = true},
                          {.title = "LAST", .wide_only = true},
                          {.title = "MEANING", .wide_only = true}}};
  for (const v1::LogProblem& problem : explanation.problems()) {
    std::vector<std::string> ranks;
    for (const std::uint32_t rank : problem.ranks()) ranks.push_back(Format("{}", rank));
    table.rows.push_back({Format("{}", problem.count()), Where(problem.first(), explanation),
                          std::string(RoleName(problem.role())), Some(problem.hosts()),
                          Some(problem.hcas()), Some(problem.peers()), Cell(problem.title()),
                          Some(ranks), Cell(problem.library()), Cell(problem.last_time()),
                          Cell(problem.meaning())});
  }
  return table;
}

std::string Ending(const v1::LogExplanation& explanation) {
  std::string text;
  for (const v1::LogSuspect& suspect : explanation.suspects())
    text += Format("Suspected (not confirmed): {}. {}.\n", suspect.node(), suspect.reason());
  for (const std::string& note : explanation.notes()) text += Format("Note: {}\n", note);
  return text;
}

bool AnyProblem(const v1::LogExplanation& explanation) {
  return std::ranges::any_of(explanation.problems(), [](const v1::LogProblem& problem) {
    return problem.role() != v1::LOG_ROLE_NOTICE;
  });
}

}  // namespace

Output ExplainReport(const v1::LogExplanation& explanation, bool wide) {
  Output output;
  output.before = FileLines(explanation);
  if (explanation.problems().empty()) {
    output.before += "\nNo message in it is known to this program, so no cause is named.\n";
  } else {
    if (explanation.has_first_failure()) output.before += FirstFailure(explanation, wide);
    output.before += CauseTexts(explanation, wide);
    output.tables.push_back(MessageTable(explanation));
  }
  for (const v1::LogNode& node : explanation.nodes()) {
    Table findings = FindingTable(node.findings());
    findings.title = Format("fabricd on {} ({} in the log)", node.node(), node.named_as());
    if (findings.rows.empty()) {
      findings.columns = {{.title = "no open finding"}};
      findings.empty_note = "";
    }
    output.tables.push_back(std::move(findings));
  }
  output.after = Ending(explanation);
  for (const v1::LogCause& cause : explanation.causes()) output.names.push_back(cause.id());
  output.exit_status = AnyProblem(explanation) ? kExitFindings : kExitOk;
  return output;
}

}  // namespace fabric::ctl
