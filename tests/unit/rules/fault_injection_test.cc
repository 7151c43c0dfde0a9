// Faults injected into each field of snapshots: a wrong value, no value, a value that could not be
// read; of repeated fields in each element alone. Each changes a finding or gives an UNKNOWN, or is
// a row of informational.tsv with the reason. The remedies of all these findings are checked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "base/text.h"
#include "tests/testing/paths.h"
#include "tests/unit/rules/complete_nodes.h"
#include "tests/unit/rules/field_faults.h"
#include "tests/unit/rules/judged.h"
#include "tests/unit/rules/remedy_effects.h"
#include "tests/unit/rules/safe_remedies.h"

namespace fabric::rules {
namespace {

using Snapshots = std::vector<v1::NodeSnapshot>;

v1::Gap Unread(const std::string& inspector) {
  v1::Gap gap;
  gap.set_inspector(inspector);
  gap.set_code(v1::GAP_CODE_PERMISSION_DENIED);
  gap.set_reason("Permission denied");
  return gap;
}

// Mistakes of remedies, each with the first fault that shows it.
class RemedyCheck {
 public:
  void Check(const v1::Finding& finding, const Snapshots& nodes, const std::string& fault) {
    std::string key = finding.rule();
    for (const v1::Remedy& remedy : finding.remedies())
      key += Format("|{}|{}", remedy.command(), remedy.undo());
    if (!seen_.insert(std::move(key)).second) return;
    NoteEffects(finding);
    for (const std::string& mistake : RemedyMistakes(finding, nodes))
      mistakes_.emplace(Format("{} {}", finding.rule(), mistake.substr(mistake.find(": ") + 2)),
                        fault);
  }
  std::string Text() const {
    std::string text;
    for (const auto& [mistake, fault] : mistakes_) text += Format("{} ({})\n", mistake, fault);
    return text;
  }

 private:
  std::set<std::string> seen_;
  std::map<std::string, std::string> mistakes_;
};

struct PathFault {
  std::string path;
  FaultKind fault = {};
  auto operator<=>(const PathFault&) const = default;
};
// In one fleet a rule notices the fault in each element.
struct Notice {
  bool noticed = false;
  std::string missed;  // An element of each fleet without a finding
};
using Noticed = std::map<PathFault, Notice>;

// One fleet, and what was found out about its fields.
class Injection {
 public:
  Injection(Snapshots nodes, profile::Profile profile, RemedyCheck& remedies)
      : nodes_(std::move(nodes)),
        profile_(std::move(profile)),
        remedies_(remedies),
        healthy_(VerdictsOn(nodes_, "no fault")) {}

  void Run(Noticed& noticed) {
    std::map<PathFault, std::vector<FieldFault>> by_path;
    for (FieldFault& fault : FaultsOf(nodes_[0]))
      by_path[{fault.path, fault.fault}].push_back(std::move(fault));
    for (const auto& [path, faults] : by_path) {
      Notice& notice = noticed[path];
      if (notice.noticed) continue;
      const auto missed =
          std::ranges::find_if(faults, [&](const FieldFault& fault) { return !IsNoticed(fault); });
      notice.noticed = missed == faults.end();
      if (!notice.noticed)
        notice.missed += Format(" {} {}", nodes_[0].node().name(), missed->element);
    }
  }

 private:
  bool IsNoticed(const FieldFault& fault) {
    if (fault.fault == FaultKind::kUnreadable) return IsNoticedUnreadable(fault);
    return std::ranges::any_of(fault.variants, [&](const Mutation& change) {
      return After(change, fault.element) != healthy_;
    });
  }

  bool IsNoticedUnreadable(const FieldFault& fault) {
    for (const std::string& inspector : InspectorsOf(fault.field)) {
      const v1::Gap gap = Unread(inspector);
      auto known = with_gap_.find(inspector);
      if (known == with_gap_.end())
        known = with_gap_
                    .emplace(inspector,
                             After([&](auto& node) { *node.add_gaps() = gap; }, "gap " + inspector))
                    .first;
      const auto add_gap = [&](v1::NodeSnapshot& node) {
        fault.variants[0](node);
        *node.add_gaps() = gap;
      };
      if (After(add_gap, fault.element) != known->second) return true;
    }
    return false;
  }

  std::set<std::string> After(const Mutation& change, const std::string& what) {
    Snapshots changed = nodes_;
    change(changed[0]);
    return VerdictsOn(changed, what);
  }

  // Verdicts of all rules but drivers_answer, which judges gaps.
  std::set<std::string> VerdictsOn(const Snapshots& nodes, const std::string& what) {
    std::vector<fleet::NodeRecord> records;
    for (const v1::NodeSnapshot& node : nodes)
      records.push_back({.name = node.node().name(), .snapshot = node});
    fleet::AssignRails(records, profile_);
    std::set<std::string> verdicts;
    for (const v1::Finding& finding : Evaluate(fleet::FleetView(records, profile_)).findings) {
      remedies_.Check(finding, nodes, what);
      if (finding.rule() != "drivers_answer")
        verdicts.insert(
            Format("{} {} {}", finding.id(), static_cast<int>(finding.verdict()), finding.title()));
    }
    return verdicts;
  }

  const Snapshots nodes_;
  const profile::Profile profile_;
  RemedyCheck& remedies_;
  const std::set<std::string> healthy_;
  std::map<std::string, std::set<std::string>> with_gap_;
};

struct InformationalRow {
  std::set<std::string> faults;
  std::set<std::string> used;
  std::string reason;
};

// "net_interfaces[other].*" is the row of all fields below that have none.
InformationalRow* RowOf(std::map<std::string, InformationalRow>& table, const std::string& path) {
  if (const auto own = table.find(path); own != table.end()) return &own->second;
  for (std::size_t dot = path.rfind('.'); dot != std::string::npos && dot > 0;
       dot = path.rfind('.', dot - 1))
    if (const auto all = table.find(path.substr(0, dot) + ".*"); all != table.end())
      return &all->second;
  return nullptr;
}

std::map<std::string, InformationalRow> ReadTable() {
  std::ifstream file(Format("{}/tests/unit/rules/informational.tsv", testing::kSourceDir));
  std::map<std::string, InformationalRow> table;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    const auto cells = Split(line, '\t');
    if (cells.size() != 3) {
      ADD_FAILURE() << "informational.tsv: expected 3 cells: " << line;
      continue;
    }
    InformationalRow& row = table[std::string(cells[0])];
    for (const std::string_view fault : Split(cells[1], ',')) row.faults.emplace(fault);
    row.reason = cells[2];
    EXPECT_FALSE(row.reason.empty()) << line;
  }
  return table;
}

TEST(FaultInjection, EveryFieldIsJudgedOrInformational) {
  Noticed noticed;
  RemedyCheck remedies;
  for (CompleteFleet& fleet : CompleteFleets())
    Injection(std::move(fleet.nodes), Expecting(fleet.expectations), remedies).Run(noticed);
  auto table = ReadTable();
  std::map<std::string, std::string> missing;
  std::string obsolete;
  for (const auto& [fault, notice] : noticed) {
    const std::string name = NameOf(fault.fault);
    InformationalRow* const row = RowOf(table, fault.path);
    const bool listed = row != nullptr && row->faults.contains(name);
    if (listed && !notice.noticed) row->used.insert(name);
    if (!listed && !notice.noticed) {
      std::string& names = missing[fault.path];
      names += (names.empty() ? "" : ",") + name;
    }
    if (listed && notice.noticed && table.contains(fault.path))
      obsolete += Format("{} {}\n", fault.path, name);
  }
  std::string rows;
  for (const auto& [path, names] : missing)
    rows += Format("{}\t{}\tmissed in{}\n", path, names,
                   noticed.at({path, FaultKind::kRemoved}).missed);
  EXPECT_EQ(rows, "") << "no rule notices these faults: add a rule, or the reason to "
                         "tests/unit/rules/informational.tsv";
  EXPECT_EQ(obsolete, "") << "a rule notices these faults: remove them from informational.tsv";
  for (const auto& [path, row] : table)
    for (const std::string& name : row.faults)
      EXPECT_TRUE(row.used.contains(name))
          << path << " " << name << ": expected a fault of a complete fleet";
  EXPECT_EQ(remedies.Text(), "");
}

}  // namespace
}  // namespace fabric::rules
