// Every kernel log category, neutral counter and code of a gap is used by a rule, or listed in
// informational_inputs.tsv with the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "base/text.h"
#include "tests/testing/paths.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using NameSet = std::set<std::string>;

std::string FileText(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

// The sources of all rules.
std::string RuleSources() {
  std::string text;
  const std::filesystem::path folder = std::filesystem::path(testing::kSourceDir) / "daemon/rules";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".cc") text += FileText(entry.path());
  return text;
}

// The first group of each match.
NameSet Matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  NameSet names;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
    names.insert((*at)[1]);
  return names;
}

std::string SourceOf(const std::string& path) {
  return FileText(std::filesystem::path(testing::kSourceDir) / path);
}

// Rows of one kind: "category", "counter", "gap_code".
NameSet ListedAs(const std::string& kind) {
  NameSet names;
  const std::string table = SourceOf("tests/unit/rules/informational_inputs.tsv");
  for (const std::string_view line : Split(table, '\n')) {
    if (line.empty() || line.starts_with("#")) continue;
    const auto cells = Split(line, '\t');
    EXPECT_EQ(cells.size(), 3U) << line;
    if (cells.size() == 3 && cells[0] == kind) names.emplace(cells[1]);
  }
  return names;
}

void ExpectUsedOrListed(const std::string& kind, const NameSet& all, const NameSet& used) {
  EXPECT_FALSE(all.empty());
  const NameSet listed = ListedAs(kind);
  for (const std::string& name : all)
    EXPECT_NE(used.contains(name), listed.contains(name))
        << kind << " " << name
        << (used.contains(name) ? " is used by a rule and listed as informational"
                                : " is neither used by a rule nor listed as informational");
  for (const std::string& name : listed)
    EXPECT_TRUE(all.contains(name)) << kind << " " << name << " does not exist";
}

TEST(InputsUsed, KernelLogCategories) {
  const NameSet all = Matches(SourceOf("agents/host/kernel_log/kernel_log_patterns.cc"),
                              R"rx(\.category = "(\w+)")rx");
  const NameSet used = Matches(RuleSources(), R"rx(\{"(\w+)", ")rx");
  NameSet of_log = used;
  const std::string lines = SourceOf("daemon/rules/kernel_log/log_lines.cc");
  const std::size_t drivers = lines.find("kNicDrivers[]");  // log_errors_known judges all of them.
  of_log.merge(
      Matches(lines.substr(drivers, lines.find(';', drivers) - drivers), R"rx("(\w+)")rx"));
  if (RuleSources().find("category() != \"pcie\"") != std::string::npos) of_log.insert("pcie");
  ExpectUsedOrListed("category", all, of_log);
}

TEST(InputsUsed, NeutralCounters) {
  const NameSet all = Matches(SourceOf("agents/inspect/counter_tables/counter_names.cc"),
                              R"rx(\n    \{"([a-z0-9_#]+)", ")rx");
  const NameSet counts = Matches(RuleSources(), R"rx(Count::(k\w+))rx");
  const std::string followed = SourceOf("daemon/fleet/counter_rates.cc");
  NameSet used;
  for (const std::string& count : counts)
    for (const std::string& name : Matches(followed, R"rx(\{"(\w+)", Count::)rx" + count + "\\}"))
      used.insert(all.contains(name) ? name : name + "#");
  ExpectUsedOrListed("counter", all, used);
}

TEST(InputsUsed, CodesOfGaps) {
  NameSet all;
  NameSet used;
  const auto* const codes = v1::GapCode_descriptor();
  for (int i = 0; i < codes->value_count(); ++i) {
    const auto code = static_cast<v1::GapCode>(codes->value(i)->number());
    all.insert(std::string(codes->value(i)->name()));
    auto nodes = testing::Nodes(3, testing::InfinibandNode);
    testing::PortOf(nodes[0], 0).clear_lid();
    v1::Gap& gap = *nodes[0].add_gaps();
    gap.set_inspector("rdma_ports");
    gap.set_subject("mlx5_0/1");
    gap.set_path("sys/class/infiniband/mlx5_0/ports/1/lid");
    gap.set_code(code);
    gap.set_reason("reason");
    if (!Unknowns(nodes).empty()) used.insert(std::string(codes->value(i)->name()));
  }
  ExpectUsedOrListed("gap_code", all, used);
}

}  // namespace
}  // namespace fabric::rules
