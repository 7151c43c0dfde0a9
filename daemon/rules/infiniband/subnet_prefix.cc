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

// subnet_prefix_distinct

// A fleet may have several clusters with separate fabrics: rails are compared among nodes of one
// kind.
std::optional<Group> ByNodeKind(const Member& member) {
  return Group{.rail = {}, .like = {}, .part = KindOf(*member.node)};
}

// The SM LID of a port with the default prefix, with its rail in the high half.
std::optional<Value> SmLidOfDefault(const Member& member) {
  const PortView& port = *member.port;
  if (!port.rail || !IsActiveInfiniband(port) || port.port->sm_lid() == 0) return {};
  if (port.port->subnet_prefix() != kDefaultSubnetPrefix) return {};
  return Value{std::uint64_t{port.rail->value()} << 32 | port.port->sm_lid()};
}

// Rails with the default prefix and one subnet manager.
struct Fabric {
  std::uint64_t sm_lid = 0;
  std::vector<std::string> rails;
  const PortView* example = nullptr;
  std::vector<v1::Subject> affected;  // One port of each rail
  std::uint64_t ports = 0;
};

void FailDistinct(const std::vector<Fabric>& fabrics, Verdicts& out) {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_FLEET);
  std::vector<std::string> sides;
  std::vector<v1::Evidence> evidence;
  std::vector<v1::Subject> affected;
  std::uint64_t ports = 0;
  for (const Fabric& fabric : fabrics) {
    affected.insert(affected.end(), fabric.affected.begin(), fabric.affected.end());
    ports += fabric.ports;
    sides.push_back(Format("SM LID {} on rail {}", fabric.sm_lid, Join(fabric.rails, " ")));
    if (evidence.size() < kEvidenceMax)
      evidence.push_back(
          ToEvidence(*fabric.example->node,
                     {.what = Format("subnet prefix of {}", PortName(*fabric.example)),
                      .expected = "another one for each subnet",
                      .seen = Format("{} with SM LID {}", kDefaultSubnetPrefix, fabric.sm_lid),
                      .source = PortFile(*fabric.example, "gids/0"),
                      .basis = "rule"}));
  }
  out.Fail(std::move(subject),
           Format("{} subnets have the default prefix, expected one at most: {}", fabrics.size(),
                  Listed(sides)),
           std::move(evidence),
           {Advice("Give each subnet its own prefix: subnet_prefix in opensm.conf of its subnet "
                   "manager, such as 0xfe80000000000001 and 0xfe80000000000002. Every GID of the "
                   "subnet changes: all its jobs and storage mounts have to restart. Undo with the "
                   "former prefix.")});
  out.SetAffected(std::move(affected), ports);
}

// The most common SM LID of each rail; rails without one are left out.
std::map<std::uint64_t, const ValueCounts::Entry*> MostCommonByRail(const ValueCounts& counts) {
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

void JudgeDistinct(const ValueCounts& counts, Verdicts& out) {
  std::vector<Fabric> fabrics;
  for (const auto& [rail, entry] : MostCommonByRail(counts)) {
    const std::uint64_t lid = entry->value.number & 0xffff'ffffU;
    auto at = std::find_if(fabrics.begin(), fabrics.end(),
                           [&](const Fabric& f) { return f.sm_lid == lid; });
    if (at == fabrics.end())
      at = fabrics.insert(at,
                          {.sm_lid = lid, .rails = {}, .example = entry->any.port, .affected = {}});
    at->rails.push_back(Format("{}", rail));
    at->affected.push_back(SubjectOf(entry->any));
    at->ports += entry->members;
  }
  if (fabrics.size() > 1)
    FailDistinct(fabrics, out);
  else if (!fabrics.empty())
    out.Pass();
}

constexpr GroupRule kDistinct = {
    .group = ByNodeKind, .value = SmLidOfDefault, .judge_group = JudgeDistinct};

// subnet_prefix_equal_on_rail

std::optional<Value> Prefix(const Member& member) {
  const fleet::PortView& port = *member.port;
  if (!IsActiveInfiniband(port) || !port.port->has_subnet_prefix()) return {};
  return Value{.text = port.port->subnet_prefix()};
}

std::optional<Value> ExpectedPrefix(const v1::Expectations& expected) {
  if (!expected.has_subnet_prefix()) return {};
  return Value{.text = expected.subnet_prefix()};
}

std::vector<v1::Remedy> SetPrefix(const Member& member, const Value& expected) {
  std::string digits;
  for (const char c : expected.text)
    if (c != ':') digits += c;
  const PortView& port = *member.port;
  return {Query({.command =
                     Format("smpquery {} -D nodedesc 0,{}", ThroughPort(port), port.port->number()),
                 .note = "Shows the switch at the other end. If it belongs to another fabric, "
                         "correct the cable."}),
          Advice(Format("If the cable is right, the subnet manager has another prefix: "
                        "subnet_prefix 0x{} in its opensm.conf. Every GID of its subnet changes: "
                        "all jobs and storage mounts on it have to restart.",
                        digits))};
}

constexpr EqualityRule kPrefix[] = {
    {.what = "subnet prefix",
     .value = Prefix,
     .expected = ExpectedPrefix,
     .show = ShowText,
     .source = [](const Member& member) { return PortFile(*member.port, "gids/0"); },
     .remedies = SetPrefix}};

}  // namespace

extern const Rule subnet_prefix_distinct = {
    .id = "subnet_prefix_distinct",
    .title = "Separate InfiniBand subnets have different subnet prefixes",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_FLEET,
    .why =
        "NCCL, UCX and MPI take ports with one prefix for connected. If they belong to two "
        "fabrics, a job that pairs ports of different rails hangs or times out. Two fabrics are "
        "recognized by the different LIDs of their subnet managers. During a handover one fabric "
        "may show two LIDs.",
    .source = "InfiniBand specification, GID; Open MPI and NCCL on subnet prefixes",
    .needs = {Input::kRdmaPorts, Input::kGids},
    .reads = {{.field = Field::kSubnetPrefix, .applies = IsInfinibandInUse}},
    .fix = "subnet_prefix in opensm.conf of each subnet",
    .group_rule = &kDistinct,
};

extern const Rule subnet_prefix_equal_on_rail = {
    .id = "subnet_prefix_equal_on_rail",
    .title = "All InfiniBand ports of a rail have the same subnet prefix",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Ports with different prefixes are in different subnets. Libraries address a router that "
        "does not exist, or refuse to connect. Usual causes: a cable in the wrong switch, or a "
        "subnet manager with another configuration.",
    .source = "InfiniBand specification, GID; NCCL's choice of LID or GID routing in net_ib",
    .needs = {Input::kGids},
    .profile = {v1::Expectations::kSubnetPrefixFieldNumber},
    .reads = {{.field = Field::kSubnetPrefix,
               .applies = IsInfinibandInUse,
               .profile = v1::Expectations::kSubnetPrefixFieldNumber},
              {.field = Field::kSubnetPrefix, .applies = IsInfinibandInUse}},
    .fix = "subnet_prefix in opensm.conf, or the cable",
    .equality_rules = kPrefix,
};

}  // namespace fabric::rules
