#include <algorithm>
#include <map>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// A fleet may hold several clusters, whose fabrics never meet: rails are compared among machines
// alike.
std::optional<Group> MachinesAlike(const Member& member) {
  return Group{.rail = {}, .like = {}, .part = KindOf(*member.node)};
}

// With its rail.
std::optional<Value> SmLidOfDefault(const Member& member) {
  const PortView& port = *member.port;
  if (!port.rail || !IsActiveInfiniband(port) || port.port->sm_lid() == 0) return {};
  if (port.port->subnet_prefix() != kDefaultSubnetPrefix) return {};
  return Value{std::uint64_t{port.rail->value()} << 32 | port.port->sm_lid()};
}

// A rail with the default prefix, as its subnet manager tells it from others.
struct Fabric {
  std::uint64_t sm_lid = 0;
  std::vector<std::string> rails;
  const PortView* example = nullptr;
};

void Fail(const std::vector<Fabric>& fabrics, Verdicts& out) {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_FLEET);
  std::vector<std::string> sides;
  std::vector<v1::Evidence> evidence;
  for (const Fabric& fabric : fabrics) {
    sides.push_back(Format("SM LID {} on rail {}", fabric.sm_lid, Join(fabric.rails, " ")));
    if (evidence.size() < kListedMax)
      evidence.push_back(
          ToEvidence(*fabric.example->node,
                     {.what = Format("subnet prefix of {}", PortName(*fabric.example)),
                      .expected = "one of its own for each subnet",
                      .seen = Format("{} with SM LID {}", kDefaultSubnetPrefix, fabric.sm_lid),
                      .source = PortFile(*fabric.example, "gids/0"),
                      .basis = "rule"}));
  }
  out.Fail(std::move(subject),
           Format("{} subnets have the default prefix, expected one at most: {}", fabrics.size(),
                  Listed(sides)),
           std::move(evidence),
           {ToRemedy({.command = "subnet_prefix 0xfe80000000000001",
                      .interrupts_traffic = true,
                      .note = "In opensm.conf of each subnet, a different one for each in the low "
                              "16 bits."})});
}

// What most of each rail say; nothing where no LID is the one of most.
std::map<std::uint64_t, const ValueCounts::Entry*> ByRails(const ValueCounts& counts) {
  std::map<std::uint64_t, const ValueCounts::Entry*> rails;
  std::map<std::uint64_t, std::uint64_t> most;
  for (const ValueCounts::Entry& entry : counts.values) {  // Largest first
    const std::uint64_t rail = entry.value.number >> 32;
    if (most.try_emplace(rail, entry.members).second)
      rails[rail] = &entry;
    else if (entry.members == most[rail])
      rails.erase(rail);
  }
  return rails;
}

void JudgeMachines(const ValueCounts& counts, Verdicts& out) {
  std::vector<Fabric> fabrics;
  for (const auto& [rail, entry] : ByRails(counts)) {
    const std::uint64_t lid = entry->value.number & 0xffff'ffffU;
    auto at = std::find_if(fabrics.begin(), fabrics.end(),
                           [&](const Fabric& f) { return f.sm_lid == lid; });
    if (at == fabrics.end())
      at = fabrics.insert(at, {.sm_lid = lid, .rails = {}, .example = entry->any.port});
    at->rails.push_back(Format("{}", rail));
  }
  if (fabrics.size() > 1)
    Fail(fabrics, out);
  else if (!fabrics.empty())
    out.Pass();
}

constexpr GroupRule kGroupRule = {
    .group = MachinesAlike, .value = SmLidOfDefault, .judge_group = JudgeMachines};

}  // namespace

extern const Rule subnet_prefix_distinct = {
    .id = "subnet_prefix_distinct",
    .title = "Rails that are InfiniBand subnets of their own have subnet prefixes of their own",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_FLEET,
    .why =
        "NCCL, UCX and MPI take ports with one prefix for connected. Where they are two fabrics, "
        "a job that pairs ports of different rails hangs or times out. Two fabrics are told by "
        "their subnet managers, which have different LIDs; during a handover two LIDs may be seen "
        "in one.",
    .source = "InfiniBand specification, GID; Open MPI and NCCL on subnet prefixes",
    .needs = {Input::kRdmaPorts, Input::kGids},
    .fix = "subnet_prefix in opensm.conf of each subnet",
    .group_rule = &kGroupRule,
};

}  // namespace fabric::rules
