#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"
#include "proto/ports.h"

namespace fabric::rules {
namespace {

using Parameters = google::protobuf::RepeatedPtrField<v1::CongestionParameter>;

// congestion_mode_equal judges the mode.
bool IsMode(const v1::CongestionControl& control, const v1::CongestionParameter& parameter) {
  return parameter.name() == "cc_mode" && !control.mode().empty();
}

// Hash of the names and values of all parameters but the mode.
std::optional<Value> AllOf(const Member& member) {
  const v1::CongestionControl* const control = CongestionOf(*member.port);
  if (control == nullptr || control->parameters().empty()) return {};
  std::uint64_t hash = kFnvOffset;
  for (const v1::CongestionParameter& parameter : control->parameters())
    if (!IsMode(*control, parameter))
      hash = FnvStep(Fnv(parameter.name(), hash), parameter.value());
  return Value{hash};
}

std::string ShowParameters(const Value& value) {
  return Format("#{:04x}", value.number & 0xffffU);
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value&) {
  const std::string source = CongestionSource(member);
  return {Query({.command = Format("cd / && grep -r . {}", source),
                 .note = "Compare with a good port. Write the parameters that differ, or reload "
                         "the driver to restore its defaults."})};
}

std::string ValueOf(const v1::CongestionParameter& parameter) {
  return parameter.unit().empty() ? Format("{}", parameter.value())
                                  : Format("{} {}", parameter.value(), parameter.unit());
}

// One line for each parameter that differs.
void AddDifferences(const Member& member, const Member& good, std::vector<v1::Evidence>& evidence) {
  const Parameters& expected = CongestionOf(*good.port)->parameters();
  for (const v1::CongestionParameter& seen : CongestionOf(*member.port)->parameters()) {
    const v1::CongestionParameter* const wanted = FindNamed(expected, seen.name());
    if (wanted == nullptr || wanted->value() == seen.value()) continue;
    evidence.push_back(ToEvidence(*member.node->node, {.what = seen.name(),
                                                       .expected = ValueOf(*wanted),
                                                       .seen = ValueOf(seen),
                                                       .source = CongestionSource(member),
                                                       .basis = "as " + PortName(*good.port)}));
    if (evidence.size() > kEvidenceMax) return;
  }
}

bool HasDifference(const Parameters& a, const Parameters& b) {
  return std::ranges::any_of(a, [&](const v1::CongestionParameter& parameter) {
    const v1::CongestionParameter* const other = FindNamed(b, parameter.name());
    return other != nullptr && other->value() != parameter.value();
  });
}

// Adds the parameters of `from` that `to` lacks.
void AddMissing(const Parameters& from, const Parameters& to, const std::string& where,
                std::vector<std::string>& missing) {
  for (const v1::CongestionParameter& parameter : from)
    if (FindNamed(to, parameter.name()) == nullptr)
      missing.push_back(Format("{} only on {}", parameter.name(), where));
}

// Not every version of a driver has all files.
std::string OnlyMissing(const Member& member, const Member& other) {
  const Parameters& own = CongestionOf(*member.port)->parameters();
  const Parameters& others = CongestionOf(*other.port)->parameters();
  if (HasDifference(own, others)) return {};
  std::vector<std::string> missing;
  AddMissing(others, own, PortName(*other.port), missing);
  AddMissing(own, others, PortName(*member.port), missing);
  return Format("{}; the others are equal", Listed(missing));
}

constexpr EqualityRule kDcqcnRules[] = {{.what = "set of congestion control parameters",
                                         .group = ByRailAndModel,
                                         .value = AllOf,
                                         .kept_when_down = true,
                                         .show = ShowParameters,
                                         .source = CongestionSource,
                                         .remedies = Remedies,
                                         .more = AddDifferences,
                                         .incomparable = OnlyMissing}};

}  // namespace

extern const Rule dcqcn_parameters_equal = {
    .id = "dcqcn_parameters_equal",
    .title = "Comparable ports of a rail have the same congestion control parameters",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "DCQCN shares a bottleneck fairly among senders with the same parameters. A sender with a "
        "higher rate increase takes bandwidth from the others. The title shows each set of "
        "parameters as a short hash; the evidence lists the parameters that differ. UNKNOWN where "
        "ports do not have the same parameters and those that both have are equal.",
    .source =
        "NVIDIA MLNX_OFED (ecn/roce_rp); kernel drivers/infiniband/hw/mlx5/cong.c; DCQCN, "
        "SIGCOMM 2015",
    .needs = {Input::kCongestionControl},
    .reads = {{.field = Field::kCongestionParameters, .applies = IsRoceInUse}},
    .fix = "write the parameter that differs below sys/class/net/NETDEV/ecn/roce_rp",
    .equality_rules = kDcqcnRules,
};

}  // namespace fabric::rules
