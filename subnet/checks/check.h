// Checks of a subnet: pure functions from a subnet, and a plan if one is given, to verdicts.
//
// A check gives a verdict for each thing that it judges: PASS, FAIL, or UNKNOWN with the file or
// flag that supplies the missing input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "fabric/v1/finding.pb.h"
#include "subnet/checks/levels.h"
#include "subnet/plan.h"
#include "subnet/routing/credit_loops.h"
#include "subnet/routing/routes.h"

namespace fabric::subnet {

// What supplies inputs that files of other tools do not have.
inline constexpr std::string_view kNeedsReading = "read the subnet with 'fabric-agent subnet read'";

inline constexpr std::string_view kNoTables =
    "no forwarding tables: add the output of dump_lfts, opensm-lfts.dump or opensm.fdbs";

// What all tables of a routing engine of opensm have.
struct RoutingEngine {
  std::string_view name;  // As option of opensm: "updn"
  bool minimal = false;   // No path uses more switches than the minimum.
  bool up_down = false;   // In a tree: no path goes up after it went down.
};
// INVALID_ARGUMENT with the names that are known.
Result<const RoutingEngine*> ParseRoutingEngine(std::string_view text);

// Expected values that no file contains.
struct Expectations {
  std::optional<std::uint32_t> extra_hops;     // Switches above the minimum that routing may use
  std::optional<double> oversubscription_max;  // Bandwidth down by bandwidth up
  bool several_lanes = false;  // The routing engine avoids credit loops by virtual lanes.
  const RoutingEngine* routing = nullptr;  // nullptr: not known
  // Limits of the profile. Empty: the default of the check.
  std::optional<double> raw_ber_max;
  std::optional<double> symbol_errors_max_per_hour;
  std::optional<double> xmit_wait_max_percent;
  // Since when and why no agent reads the subnet; empty: one does, or the subnet is from files.
  std::string not_read_now = {};
  // Of the reading before, and the time between both. Empty: there is none.
  std::vector<Manager> managers_before = {};
  double managers_before_s = 0;
};

// "1", "2.5". INVALID_ARGUMENT unless it is a number from 0 to 1000.
Result<double> ParseOversubscription(std::string_view text);

struct CheckInput {
  const Graph& graph;
  const Levels& levels;
  const RouteReport* routes = nullptr;        // nullptr: no forwarding tables
  const CreditLoops* credit_loops = nullptr;  // As above
  const Plan* plan = nullptr;
  Expectations expected;

  const Subnet& subnet() const { return graph.subnet(); }
};

struct Check;

// What a FAIL says.
struct Failure {
  v1::Subject subject;
  std::string key;  // Distinguishes the failures of a subject.
  std::string title;
  std::string what;  // Evidence
  std::string expected;
  std::string seen;
  std::string basis = "rule";
  std::vector<v1::Remedy> remedies = {};
  std::vector<v1::Subject> affected = {};  // Default: the subject
};

class Verdicts {
 public:
  // Findings of one check that are kept; the others are counted.
  static constexpr std::size_t kFindingsMax = 200;

  explicit Verdicts(std::string source) : source_(std::move(source)) {}

  void Begin(const Check& check);
  void Pass(std::uint64_t count = 1);
  void Fail(Failure failure);
  // `reason`: the missing input, and the file or flag that supplies it.
  void Unknown(std::string reason);

  std::uint64_t passed() const { return pass_; }
  std::uint64_t failed() const { return fail_; }
  std::uint64_t unknown() const { return unknown_; }
  std::uint64_t omitted() const { return omitted_; }
  std::vector<v1::Finding> TakeFindings() { return std::move(findings_); }
  v1::Coverage CoverageOf(std::size_t checks) const;

 private:
  struct Judged {
    std::string_view id;
    std::uint64_t verdicts = 0;
    std::size_t findings = 0;
  };

  const std::string source_;
  const Check* check_ = nullptr;
  std::vector<Judged> judged_;
  std::vector<std::pair<std::string, std::string>> unknowns_;  // Reason, id of the check
  std::vector<v1::Finding> findings_;
  std::uint64_t pass_ = 0;
  std::uint64_t fail_ = 0;
  std::uint64_t unknown_ = 0;
  std::uint64_t omitted_ = 0;
};

struct Check {
  std::string_view id;
  std::string_view title;  // What holds in a healthy subnet
  v1::Severity severity = v1::SEVERITY_UNSPECIFIED;
  std::string_view why;
  void (*judge)(const CheckInput& input, Verdicts& out);
};

std::span<const Check* const> AllChecks();  // Generated; see CMakeLists.txt.

struct Evaluation {
  v1::VerdictCounts counts;
  std::vector<v1::Finding> findings;
  v1::Coverage coverage;
  std::uint64_t omitted = 0;  // Findings above Verdicts::kFindingsMax
};
Evaluation Evaluate(const Subnet& subnet, const Plan* plan, const Expectations& expected);
// Evaluations of several subnets as one. The findings get ids that differ by the name of the
// subnet.
Evaluation Combine(const std::vector<std::pair<std::string, const Evaluation*>>& subnets);

v1::RuleInfo Info(const Check& check);

// The value that at least 80 % of 5 or more have, as a majority; end() if there is none. `counts`:
// how many have each value, `all` in total.
template <class Counts>
auto MajorityOf(const Counts& counts, std::size_t all) {
  constexpr std::size_t kAllMin = 5;
  constexpr std::size_t kMajorityPercent = 80;
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  return all >= kAllMin && most->second * 100 >= all * kMajorityPercent ? most : counts.end();
}

// Device ids of switches on which the virtual lane of a packet also depends on its input port.
std::set<std::uint32_t> ModelsWithLanesByInput(const Subnet& subnet);

// Subjects and remedies of findings.
// An aggregation node is a part of its switch.
v1::Subject SubjectOf(const Subnet& subnet, End end);
v1::Subject SubjectOf(const Subnet& subnet, const Cable& cable);
v1::Subject WholeSubnet();
v1::Remedy Advice(std::string note);
// Reads the state of the link on the host of one of the ends. Empty if no end is an adapter whose
// description has the name of its device.
std::vector<v1::Remedy> CableRemedies(const Subnet& subnet, const Cable& cable, std::string note);

}  // namespace fabric::subnet
