#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/numbers.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// A node whose PCI bus could not be read has no GPUs and a gap.
std::optional<Value> Count(const Member& member) {
  const v1::NodeSnapshot& snapshot = member.snapshot();
  if (member.node->ports.empty()) return {};
  if (snapshot.gpus().empty())
    for (const v1::Gap& gap : snapshot.gaps())
      if (gap.inspector() == "gpus") return {};
  return Value{static_cast<std::uint64_t>(snapshot.gpus_size())};
}

// Nodes whose product is not known are compared only with those that have GPUs as well.
std::optional<Group> AmongLike(const Member& node) {
  if (!node.snapshot().host().product().empty()) return ByProduct(node);
  if (node.snapshot().gpus().empty()) return {};
  return Group{.rail = {}, .like = "GPUs", .part = ProductOf(*node.node)};
}

std::string Source(const Member&) {
  return "sys/bus/pci/devices";
}

std::vector<v1::Remedy> Remedies(const Member&, const Value&) {
  return {ToRemedy({.command = "lspci -nn | grep -E '0302|0300|1200|0380'",
                    .interrupts_traffic = true,
                    .note = "A GPU that is not there for PCI needs a cold boot; then look at its "
                            "power and seat."})};
}

constexpr EqualityRule kEqualityRules[] = {
    {.what = "number of GPUs",
     .of_nodes = true,
     .group = AmongLike,
     .value = Count,
     .expected = NumberOf<&v1::Expectations::has_gpus, &v1::Expectations::gpus>,
     .source = Source,
     .remedies = Remedies}};

}  // namespace

extern const Rule gpu_count_equal = {
    .id = "gpu_count_equal",
    .title = "Nodes of one product have the same number of GPUs",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "A GPU that fell off the bus leaves its NIC without a partner, and jobs that count on all "
        "of them fail or run on the wrong ones.",
    .source = "kernel Documentation/ABI/testing/sysfs-bus-pci",
    .needs = {Input::kGpus},
    .profile = {v1::Expectations::kGpusFieldNumber},
    .fix = "boot the node cold; look at the GPU's seat and power",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
