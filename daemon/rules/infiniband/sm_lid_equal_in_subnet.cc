#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// One without any is subnet_manager_known's finding.
std::optional<Value> SmLid(const Member& member) {
  const fleet::PortView& port = *member.port;
  if (!IsActiveInfiniband(port) || port.port->sm_lid() == 0) return {};
  return Value{port.port->sm_lid()};
}

std::string Source(const Member& member) {
  return PortFile(*member.port, "sm_lid");
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  return {ToRemedy(
      {.command = Format("sminfo {} && sminfo {}", expected.number, member.port->port->sm_lid()),
       .note = "Both MASTER: two subnet managers that do not see each other, or two "
               "subnets that were meant to be one. Stop one of them, or mend what "
               "parts them."})};
}

constexpr EqualityRule kEqualityRules[] = {
    {.what = "SM LID", .group = BySubnet, .value = SmLid, .source = Source, .remedies = Remedies}};

}  // namespace

extern const Rule sm_lid_equal_in_subnet = {
    .id = "sm_lid_equal_in_subnet",
    .title = "All ports of an InfiniBand subnet have the same subnet manager",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "After a handover every port is told the LID of the new subnet manager. One that still has "
        "the old one was left out: it misses changes of routes and multicast. Two camps are two "
        "subnet managers, or two subnets. Ports with the default prefix are compared within their "
        "rail only.",
    .source = "InfiniBand specification, PortInfo:MasterSMLID",
    .needs = {Input::kRdmaPorts, Input::kGids},
    .fix = "One MASTER in the subnet: sminfo LID asks one of them",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
