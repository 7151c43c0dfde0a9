#include "ctl/tables/finding_table.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/tables/cells.h"
#include "proto/names.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

bool ListedBefore(const v1::Finding* a, const v1::Finding* b) {
  if (a->verdict() != b->verdict()) return a->verdict() < b->verdict();
  if (a->severity() != b->severity()) return a->severity() > b->severity();
  if (a->rule() != b->rule()) return a->rule() < b->rule();
  // Unknowns with the same reason are adjacent.
  const bool unknown = a->verdict() == v1::VERDICT_UNKNOWN;
  if (unknown && a->subject().node() != b->subject().node())
    return NaturalLess(a->subject().node(), b->subject().node());
  if (unknown && a->title() != b->title()) return a->title() < b->title();
  const std::string subject_a = SubjectName(a->subject());
  const std::string subject_b = SubjectName(b->subject());
  if (subject_a != subject_b) return NaturalLess(subject_a, subject_b);
  if (a->title() != b->title()) return NaturalLess(a->title(), b->title());
  return a->id() < b->id();
}

std::set<std::string_view> Ids(const Findings& findings) {
  std::set<std::string_view> ids;
  for (const v1::Finding& finding : findings) ids.insert(finding.id());
  return ids;
}

std::vector<const v1::Finding*> Sorted(const Findings& findings, bool explained = true) {
  const std::set<std::string_view> ids = Ids(findings);
  std::vector<const v1::Finding*> sorted;
  for (const v1::Finding& finding : findings)
    if (explained || !ids.contains(finding.explained_by())) sorted.push_back(&finding);
  std::ranges::sort(sorted, ListedBefore);
  return sorted;
}

struct Row {
  const v1::Finding* finding = nullptr;
  std::string subject;
};

// Whether both are the same unknown, of two ports of a node.
bool SaysTheSame(const v1::Finding& one, const v1::Finding& next) {
  return one.verdict() == v1::VERDICT_UNKNOWN && next.verdict() == v1::VERDICT_UNKNOWN &&
         one.rule() == next.rule() && one.title() == next.title() &&
         one.subject().scope() == v1::SCOPE_PORT && next.subject().scope() == v1::SCOPE_PORT &&
         one.subject().node() == next.subject().node() && StatusCell(one) == StatusCell(next);
}

std::vector<Row> Rows(const std::vector<const v1::Finding*>& sorted, bool fold) {
  std::vector<Row> rows;
  std::uint64_t ports = 1;
  for (const v1::Finding* finding : sorted) {
    if (!fold || rows.empty() || !SaysTheSame(*rows.back().finding, *finding)) {
      rows.push_back({.finding = finding, .subject = SubjectName(finding->subject())});
      ports = 1;
      continue;
    }
    ++ports;
    rows.back().subject = Format("{} ({})", finding->subject().node(), Plural(ports, "port"));
  }
  return rows;
}

// In place of the wide column ID.
void AddIdAndAge(Table& table) {
  table.columns.pop_back();
  table.columns.insert(table.columns.begin(),
                       {{.title = "ID"}, {.title = "AGE", .right_aligned = true, .drop = 1}});
}

std::string Fix(const v1::Finding& finding) {
  if (finding.remedies().empty()) return Cell("");
  const v1::Remedy& remedy = finding.remedies(0);
  return Cell(remedy.command().empty() ? remedy.note() : remedy.command());
}

}  // namespace

std::string AffectsCell(const v1::Remedy& remedy) {
  if (remedy.command().empty()) return Cell("");
  if (remedy.affects() == v1::REMEDY_REACH_NOTHING) return "nothing: reads only";
  std::vector<std::string> effects = {remedy.affects() == v1::REMEDY_REACH_UNSPECIFIED
                                          ? "not stated"
                                          : std::string(Name(remedy.affects()))};
  if (remedy.interrupts_traffic()) effects.emplace_back("interrupts traffic");
  if (remedy.weakens_isolation()) effects.emplace_back("weakens isolation between tenants");
  if (remedy.persistence() == v1::REMEDY_PERSISTENCE_UNTIL_REBOOT)
    effects.emplace_back("until reboot");
  return Join(effects, ", ");
}

std::string StatusCell(const v1::Finding& finding) {
  std::vector<std::string> marks;
  if (!finding.expired_reason().empty()) marks.emplace_back("expired");
  if (finding.has_silenced() && finding.state() != v1::FINDING_STATE_RESOLVED)
    marks.push_back(Format("silenced until {}", ToString(finding.silenced().until())));
  if (finding.has_acknowledged())
    marks.push_back(Format("acknowledged by {}", finding.acknowledged().author()));
  if (finding.flapping()) marks.emplace_back("flapping");
  if (!finding.explained_by().empty())
    marks.push_back(Format("caused by {}", finding.explained_by()));
  return Cell(Join(marks, ", "));
}

Table FindingTable(const Findings& findings, FindingColumns columns) {
  Table table{.columns = {{.title = "SEVERITY", .coloured = true},
                          {.title = "RULE", .elastic = true, .cut_min = 20, .cut_late = 24},
                          {.title = "SUBJECT", .elastic = true, .cut_min = 10, .cut_late = 18},
                          {.title = "WHAT", .elastic = true, .main = true},
                          {.title = "OPENED", .wide_only = true},
                          {.title = "EXPECTED", .wide_only = true},
                          {.title = "SEEN", .wide_only = true},
                          {.title = "FIX", .wide_only = true},
                          {.title = "FIX AFFECTS", .wide_only = true},
                          {.title = "ID", .wide_only = true}},
              .empty_note = "No findings."};
  const std::vector<Row> shown = Rows(Sorted(findings, columns.explained), !columns.explained);
  const bool with_status = std::ranges::any_of(
      shown, [](const Row& row) { return StatusCell(*row.finding) != kAbsent; });
  constexpr std::ptrdiff_t kStatusAt = 4;  // After WHAT
  if (with_status)
    table.columns.insert(table.columns.begin() + kStatusAt, {.title = "STATUS", .elastic = true});
  if (columns.state)
    table.columns.insert(table.columns.begin(), {.title = "STATE", .coloured = true});
  if (columns.now) AddIdAndAge(table);
  for (const auto& [finding, subject] : shown) {
    const bool unknown = finding->verdict() == v1::VERDICT_UNKNOWN;
    const v1::Evidence evidence =
        finding->evidence().empty() ? v1::Evidence() : finding->evidence(0);
    std::vector<std::string> row = {
        unknown ? "unknown" : Cell(Name(finding->severity())),
        Cell(finding->rule()),
        subject,
        Cell(finding->title()),
        ToString(finding->opened_at()),
        Cell(evidence.expected()),
        Cell(evidence.seen()),
        Fix(*finding),
        finding->remedies().empty() ? Cell("") : AffectsCell(finding->remedies(0)),
        Cell(finding->id()),
    };
    if (with_status) row.insert(row.begin() + kStatusAt, StatusCell(*finding));
    if (columns.state) row.insert(row.begin(), Cell(Name(finding->state())));
    if (columns.now) {
      row.pop_back();
      row.insert(row.begin(), {Cell(finding->id()), AgeCell(finding->opened_at(), *columns.now)});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string ExplainedNote(const Findings& findings) {
  const std::size_t left_out =
      static_cast<std::size_t>(findings.size()) - Sorted(findings, false).size();
  if (left_out == 0) return {};
  return Format("{} caused by these {} not shown; use --explained.\n", Plural(left_out, "finding"),
                left_out == 1 ? "is" : "are");
}

bool AnyFailing(const Findings& findings) {
  return std::ranges::any_of(findings, [](const v1::Finding& finding) {
    return finding.verdict() == v1::VERDICT_FAIL && !finding.has_silenced() &&
           finding.state() != v1::FINDING_STATE_RESOLVED;
  });
}

std::vector<std::string> FindingNames(const Findings& findings) {
  std::vector<std::string> names;
  for (const v1::Finding* finding : Sorted(findings)) names.push_back(finding->id());
  return names;
}

}  // namespace fabric::ctl
