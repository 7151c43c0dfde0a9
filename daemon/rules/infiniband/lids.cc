#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/uniqueness_rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// duplicate_lid

constexpr std::uint32_t kLmcMax = 7;
constexpr std::uint64_t kLidMask = 0xffff'ffffU;

// The key has the LID in the low half. The high half has rail and kind of port, if they are part of
// the subnet.
void Lids(const Member& member, std::vector<KeyHolder>& out) {
  const PortView& port = *member.port;
  // Virtual functions have the LID of their port.
  if (!IsActiveInfiniband(port) || IsVirtualFunction(port)) return;
  const std::uint32_t lid = port.port->lid();
  const auto subnet = BySubnet(member);
  if (lid == 0 || lid >= kUnicastEnd || port.port->lmc() > kLmcMax || !subnet) return;
  const std::uint64_t rail = subnet->rail ? *subnet->rail + std::uint64_t{1} : 0;
  const std::uint64_t part = (subnet->part & 0xffff'0000U) | (rail & 0xffffU);
  for (std::uint32_t i = 0; i < 1U << port.port->lmc(); ++i)
    out.push_back(
        {.member = member, .key = {.number = part << 32 | (lid + i), .text = subnet->like}});
}

bool IsSameDevice(const KeyHolder& a, const KeyHolder& b) {
  const std::string& guid = a.member.port->device->node_guid();
  return !guid.empty() && guid == b.member.port->device->node_guid();
}

std::vector<v1::Remedy> ReassignLids(const KeyHolder& last) {
  const PortView& port = *last.member.port;
  return {Query({.command = Format("smpquery {} nodeinfo {}", ThroughPort(port),
                                   last.key.number & kLidMask),
                 .note = "Shows the GUID of the port to which the switches route this LID."}),
          QuerySubnetManager(port,
                             "First check whether two subnet managers run: each of them "
                             "assigns LIDs."),
          ResetLink(port, "The subnet manager configures the port again, with a free LID."),
          Change({.command = "opensm --reassign_lids",
                  .affects = v1::REMEDY_REACH_SUBNET,
                  .interrupts = "all jobs and storage on the whole subnet: every port gets a new "
                                "LID, and all connections break",
                  .lasts = Permanently(),
                  .undo = "Cannot be undone: the former LIDs are lost",
                  .note = "Last resort, in a maintenance window of the whole subnet. Instead of "
                          "the usual start of opensm, once.",
                  .host = "the subnet manager"})};
}

constexpr UniquenessRule kLids = {
    .what = "LID",
    .keys = Lids,
    .same = IsSameDevice,
    .show = [](const KeyHolder& holder) { return Format("{}", holder.key.number & kLidMask); },
    .source = [](const KeyHolder& holder) { return PortFile(*holder.member.port, "lid"); },
    .remedies = ReassignLids};

// lid_assigned

void FailLid(const PortView& port, Verdicts& out) {
  out.Fail(port.Subject(),
           Format("LID {} on an ACTIVE port, expected one from 1 to {}", port.port->lid(),
                  kUnicastEnd - 1),
           {ToEvidence(*port.node, {.what = "LID",
                                    .expected = Format("1 to {}", kUnicastEnd - 1),
                                    .seen = Format("{}", port.port->lid()),
                                    .source = PortFile(port, "lid"),
                                    .basis = "rule"})},
           {QuerySubnetManager(port,
                               "Check that a subnet manager runs, and look for the port's GUID in "
                               "its log."),
            ResetLink(port, "The subnet manager configures the port again.")});
}

void JudgeLid(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!IsActiveInfiniband(port) || IsVirtualFunction(port) || !port.port->has_lid()) continue;
    if (port.port->lid() == 0 || port.port->lid() >= kUnicastEnd)
      FailLid(port, out);
    else
      out.Pass();
  }
}

// sm_lid_equal_in_subnet

// A port without SM LID is a finding of subnet_manager_known.
std::optional<Value> SmLid(const Member& member) {
  const PortView& port = *member.port;
  if (!IsActiveInfiniband(port) || port.port->sm_lid() == 0) return {};
  return Value{port.port->sm_lid()};
}

std::vector<v1::Remedy> QuerySubnetManagers(const Member& member, const Value& expected) {
  return {Query(
      {.command = Format("sminfo {0} {1}; sminfo {0} {2}", ThroughPort(*member.port),
                         expected.number, member.port->port->sm_lid()),
       .note = "If both are MASTER, two subnet managers do not see each other, or two subnets that "
               "should be one are separate. Stop one of them, or repair the connection between "
               "them."})};
}

constexpr EqualityRule kSmLid[] = {
    {.what = "SM LID",
     .group = BySubnet,
     .value = SmLid,
     .source = [](const Member& member) { return PortFile(*member.port, "sm_lid"); },
     .remedies = QuerySubnetManagers}};

// subnet_manager_known

void FailSubnetManager(const PortView& port, Verdicts& out) {
  out.Fail(port.Subject(), "SM LID 0 on an ACTIVE port, expected that of a subnet manager",
           {ToEvidence(*port.node, {.what = "SM LID",
                                    .expected = "not 0",
                                    .seen = "0",
                                    .source = PortFile(port, "sm_lid"),
                                    .basis = "rule"})},
           {QuerySubnetManager(port, "Shows whether a subnet manager answers."),
            Advice("If none answers, start the subnet manager where it belongs: opensm on its "
                   "node, UFM, or a switch. Do not start a second one elsewhere.")});
}

// A port without a LID is a finding of lid_assigned; a port that is not ACTIVE, of port_active.
void JudgeSubnetManager(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!IsActiveInfiniband(port) || IsVirtualFunction(port) || !port.port->has_sm_lid()) continue;
    if (port.port->sm_lid() == 0 && port.port->lid() != 0)
      FailSubnetManager(port, out);
    else
      out.Pass();
  }
}

}  // namespace

extern const Rule duplicate_lid = {
    .id = "duplicate_lid",
    .title = "No two ports of one InfiniBand subnet have the same LID",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_FLEET,
    .why =
        "Switches route by LID: packets for one of the two ports arrive at the other. Usual "
        "causes: two active subnet managers in one subnet, or two subnets that were joined. A "
        "port has 2^LMC LIDs, starting with its own. Ports with the default subnet prefix are "
        "compared within their rail only, because separate fabrics may use the same LIDs.",
    .source = "InfiniBand specification, LID and LMC; rdma-core ibidsverify",
    .needs = {Input::kRdmaPorts, Input::kGids},
    .reads = {{.field = Field::kLid, .applies = IsPhysicalInfiniband},
              {.field = Field::kSubnetPrefix, .applies = IsPhysicalInfiniband}},
    .fix = "One subnet manager; opensm --reassign_lids as a last resort: it stops all jobs",
    .uniqueness_rule = &kLids,
};

extern const Rule lid_assigned = {
    .id = "lid_assigned",
    .title = "Every ACTIVE InfiniBand port has a LID",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "Packets are routed by LID within a subnet. A port without a LID is unreachable, although "
        "it shows no error. The subnet manager assigns LIDs; it may have run out of them, or know "
        "the port by another GUID.",
    .source = "InfiniBand specification, PortInfo:LID; rdma-core ibidsverify",
    .needs = {Input::kRdmaPorts},
    .reads = {{.field = Field::kLid, .applies = IsPhysicalInfiniband}},
    .fix = "ibportstate -C DEVICE -P PORT -D 0 PORT reset, and the log of the subnet manager",
    .evaluate_node = JudgeLid,
};

extern const Rule sm_lid_equal_in_subnet = {
    .id = "sm_lid_equal_in_subnet",
    .title = "All ports of an InfiniBand subnet have the same subnet manager",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "After a handover, every port gets the LID of the new subnet manager. A port that still "
        "has the old LID was skipped, and misses changes of routes and multicast. Two groups of "
        "ports mean two subnet managers, or two subnets. Ports with the default prefix are "
        "compared within their rail only.",
    .source = "InfiniBand specification, PortInfo:MasterSMLID",
    .needs = {Input::kRdmaPorts, Input::kGids},
    .reads = {{.field = Field::kSmLid, .applies = IsPhysicalInfiniband},
              {.field = Field::kSubnetPrefix, .applies = IsPhysicalInfiniband}},
    .fix = "One MASTER in the subnet: sminfo -C DEVICE -P PORT LID queries each of them",
    .equality_rules = kSmLid,
};

extern const Rule subnet_manager_known = {
    .id = "subnet_manager_known",
    .title = "Every ACTIVE InfiniBand port knows its subnet manager",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "Without a subnet manager, routes do not change: failed links and new nodes are ignored, "
        "multicast groups cannot be joined, and path queries time out.",
    .source = "InfiniBand specification, PortInfo:MasterSMLID",
    .needs = {Input::kRdmaPorts},
    .reads = {{.field = Field::kSmLid, .applies = IsPhysicalInfiniband}},
    .fix = "Start the subnet manager where it belongs",
    .evaluate_node = JudgeSubnetManager,
};

}  // namespace fabric::rules
