#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// Of the machine as a whole, all page sizes together.
std::optional<Value> Reserved(const Member& member) {
  if (member.node->ports.empty()) return {};
  std::uint64_t bytes = 0;
  bool known = false;
  for (const v1::HugePages& pages : member.snapshot().host().hugepages()) {
    if (pages.has_numa_node() || !pages.has_total()) continue;
    bytes += pages.page_bytes() * pages.total();
    known = true;
  }
  return known ? std::optional(Value{bytes}) : std::nullopt;
}

std::string Show(const Value& value) {
  return value.number == 0 ? "none" : Format("{} MiB", value.number >> 20);
}

std::string Source(const Member&) {
  return "sys/kernel/mm/hugepages";
}

std::vector<v1::Remedy> Remedies(const Member&, const Value& expected) {
  return {ToRemedy({.command = Format("sysctl -w vm.nr_hugepages={}", expected.number >> 21),
                    .note = "For pages of 2 MiB; also in /etc/sysctl.d. On a machine that has run "
                            "for long there may not be enough whole pages until it is booted."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "reserved huge pages",
                                            .of_nodes = true,
                                            .group = ByProduct,
                                            .value = Reserved,
                                            .show = Show,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule hugepages_equal = {
    .id = "hugepages_equal",
    .title = "Nodes of one product have the same memory reserved as huge pages",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_NODE,
    .why =
        "Jobs that count on huge pages (UCX, NVSHMEM, storage) fall back to small ones or fail to "
        "start on the node that has fewer; on one that has more memory is missing.",
    .source = "kernel Documentation/admin-guide/mm/hugetlbpage.rst",
    .needs = {Input::kHostFacts},
    .fix = "sysctl -w vm.nr_hugepages=COUNT",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
