#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/uniqueness_rule.h"

namespace fabric::rules {
namespace {

void Macs(const Member& member, std::vector<KeyHolder>& out) {
  const fleet::PortView& port = *member.port;
  if (port.netdev == nullptr || port.port->link_layer() != v1::LINK_LAYER_ETHERNET) return;
  const std::string& mac = port.netdev->mac();
  if (mac.size() != 17 || mac == "00:00:00:00:00:00") return;
  out.push_back({.member = member, .key = {.text = mac}});
}

std::string Show(const KeyHolder& holder) {
  return std::string(holder.key.text);
}

std::string Source(const KeyHolder& holder) {
  return NetdevFile(*holder.member.port, "address");
}

std::vector<v1::Remedy> Remedies(const KeyHolder& last) {
  const std::string& netdev = last.member.port->port->netdev();
  return {ToRemedy({.command = Format("ethtool -P {}", netdev),
                    .note = "Prints the address that the card was made with."}),
          ToRemedy({.command = Format("ip link set dev {} address MAC", netdev),
                    .interrupts_traffic = true,
                    .note = "On the one that should not have it; of a virtual machine, where its "
                            "definition was cloned."})};
}

// The members of a bond share one address, and so do software devices with their netdev.
constexpr UniquenessRule kMacs = {.what = "MAC address",
                                  .keys = Macs,
                                  .same = IsSameNode,
                                  .show = Show,
                                  .source = Source,
                                  .remedies = Remedies};

}  // namespace

extern const Rule duplicate_mac = {
    .id = "duplicate_mac",
    .title = "No two nodes have an RDMA port with the same MAC address",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_FLEET,
    .why =
        "Switches send frames for a MAC address to the port where they saw it last: two ports with "
        "one address take each other's traffic away. It comes from cloned virtual machines and "
        "from addresses of virtual functions that were set by hand. Link-local GIDs, and GUIDs "
        "that are made from the MAC, are the same then, too.",
    .source = "IEEE 802.1D on learning; RFC 4291 appendix A on addresses made from a MAC",
    .needs = {Input::kNetInterfaces},
    .fix = "ip link set dev NETDEV address MAC, on the one that should not have it",
    .uniqueness_rule = &kMacs,
};

}  // namespace fabric::rules
