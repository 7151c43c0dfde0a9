#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/uniqueness_rule.h"

namespace fabric::rules {
namespace {

// Of IPoIB and iWARP: the addresses of RoCE are GIDs, which duplicate_gid judges.
void Addresses(const Member& member, std::vector<KeyHolder>& out) {
  const fleet::PortView& port = *member.port;
  if (port.netdev == nullptr || !IsUp(port) || IsRoce(port)) return;
  for (const std::string& address : port.netdev->addresses()) {
    if (address.starts_with("fe80") || address.starts_with("169.254.")) continue;
    out.push_back({.member = member,
                   .key = {.text = std::string_view(address).substr(0, address.find('/'))}});
  }
}

std::string Show(const KeyHolder& holder) {
  return std::string(holder.key.text);
}

std::string Source(const KeyHolder& holder) {
  return "rtnetlink " + holder.member.port->port->netdev();
}

std::vector<v1::Remedy> Remedies(const KeyHolder& last) {
  return {ToRemedy(
      {.command = Format("ip address del {} dev {}", Show(last), last.member.port->port->netdev()),
       .interrupts_traffic = true,
       .note = "On the one that should not have it; then give it its own."})};
}

constexpr UniquenessRule kAddresses = {.what = "IP address",
                                       .keys = Addresses,
                                       .same = IsSameNode,
                                       .show = Show,
                                       .source = Source,
                                       .remedies = Remedies};

}  // namespace

extern const Rule duplicate_ip = {
    .id = "duplicate_ip",
    .title = "No IP address of IPoIB or iWARP is on two nodes",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_FLEET,
    .why =
        "Two ports with one address: connections are reset, or reach the wrong node. iWARP, and "
        "everything that connects by RDMA-CM over InfiniBand, uses these addresses.",
    .source = "RFC 5227 on duplicate IPv4 addresses",
    .needs = {Input::kNetInterfaces},
    .fix = "ip address del ADDRESS dev NETDEV, on the one that should not have it",
    .uniqueness_rule = &kAddresses,
};

}  // namespace fabric::rules
