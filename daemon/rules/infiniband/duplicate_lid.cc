#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/uniqueness_rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint32_t kUnicastEnd = 0xc000;  // Multicast LIDs begin here.
constexpr std::uint32_t kLmcMax = 7;

// The LID in the low half; rail and kind of port, where they are part of the subnet, in the high
// one.
void Lids(const Member& member, std::vector<KeyHolder>& out) {
  const PortView& port = *member.port;
  // Virtual functions answer to the LID of their port.
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

bool IsOneDevice(const KeyHolder& a, const KeyHolder& b) {
  const std::string& guid = a.member.port->device->node_guid();
  return IsSameNode(a, b) && !guid.empty() && guid == b.member.port->device->node_guid();
}

std::string Show(const KeyHolder& holder) {
  return Format("{}", holder.key.number & 0xffff'ffffU);
}

std::string Source(const KeyHolder& holder) {
  return PortFile(*holder.member.port, "lid");
}

std::vector<v1::Remedy> Remedies(const KeyHolder& last) {
  return {ToRemedy({.command = Format("smpquery nodeinfo {}", last.key.number & 0xffff'ffffU),
                    .note = "Shows by its GUID which port the switches take it for."}),
          ToRemedy({.command = "opensm --reassign_lids",
                    .interrupts_traffic = true,
                    .note = "On the node of the subnet manager, in the place of its usual start. "
                            "Look first whether two subnet managers run."})};
}

constexpr UniquenessRule kLids = {.what = "LID",
                                  .keys = Lids,
                                  .same = IsOneDevice,
                                  .show = Show,
                                  .source = Source,
                                  .remedies = Remedies};

}  // namespace

extern const Rule duplicate_lid = {
    .id = "duplicate_lid",
    .title = "No LID is on two ports of one InfiniBand subnet",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_FLEET,
    .why =
        "Switches route by LID: packets for one of the two ports arrive at the other. It comes "
        "from two subnet managers at work in one subnet, or from two subnets that were joined. A "
        "port answers to 2^LMC LIDs from its own on. Ports with the default subnet prefix are "
        "compared within their rail only, since separate fabrics use the same LIDs rightly.",
    .source = "InfiniBand specification, LID and LMC; rdma-core ibidsverify",
    .needs = {Input::kRdmaPorts, Input::kGids},
    .fix = "One subnet manager; opensm --reassign_lids",
    .uniqueness_rule = &kLids,
};

}  // namespace fabric::rules
