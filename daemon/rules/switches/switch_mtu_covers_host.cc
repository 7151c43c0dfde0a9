#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/links/links.h"
#include "daemon/rules/switches/switches.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// Bytes of a frame above the MTU of the netdev: Ethernet header, checksum, VLAN tag.
constexpr std::uint64_t kFrameBytes = 14 + 4 + 4;

// Some switches announce the MTU instead of the frame size. Fails only when the value is too small
// for both meanings.
std::optional<LldpVerdict> JudgeLink(const PortView& port, const v1::LldpNeighbor& neighbor) {
  const auto mtu = NetdevMtu(port);
  if (!mtu || neighbor.max_frame_bytes() == 0) return {};
  return LldpVerdict{
      .verdict = neighbor.max_frame_bytes() < *mtu ? v1::VERDICT_FAIL : v1::VERDICT_PASS,
      .seen = neighbor.max_frame_bytes(),
      .expected = *mtu + kFrameBytes};
}

std::string ShowSeen(std::uint64_t bytes) {
  return Format("{} bytes", bytes);
}
std::string ShowExpected(std::uint64_t bytes) {
  return Format("at least {} bytes for the host's MTU {}", bytes, bytes - kFrameBytes);
}

std::vector<v1::Remedy> Remedies(const PortView& port, const v1::LldpNeighbor& neighbor,
                                 const LldpVerdict&) {
  const std::string name = SwitchPort(neighbor);
  std::vector<v1::Remedy> remedies = SwitchPortRemedies(
      neighbor,
      {.what = Format("the MTU of port {} to 9216", name),
       .sonic = Format("config interface mtu {} 9216", name),
       .sonic_undo = Format("config interface mtu {} with the former value (show interfaces "
                            "status {})",
                            name, name),
       .cumulus = Format("nv set interface {} link mtu 9216", name),
       .cumulus_undo = Format("nv unset interface {} link mtu && nv config apply", name),
       .note = "On this switch port and on all others between the hosts."});
  remedies.push_back(Advice(
      Format("A packet of full size shows whether the path passes it: ping -M "
             "do -s {} from {} to a node behind the switch.",
             port.netdev->mtu_bytes() - std::min<std::uint32_t>(port.netdev->mtu_bytes(), 28),
             port.netdev->name())));
  return remedies;
}

constexpr LldpRule kMtuLldpRule = {.what = "maximum frame",
                                   .judge = JudgeLink,
                                   .agreed = NetdevMtu,
                                   .show_seen = ShowSeen,
                                   .show_expected = ShowExpected,
                                   .unknown = "",
                                   .remedies = Remedies};

}  // namespace

extern const Rule switch_mtu_covers_host = {
    .id = "switch_mtu_covers_host",
    .title = "The switch port accepts frames as large as the host sends",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_LINK,
    .why =
        "The switch drops larger frames silently: connections come up, small messages pass, and "
        "the first large message times out.",
    .source = "IEEE 802.3, maximum frame size TLV (00-12-0F, 4)",
    .needs = {Input::kLldp, Input::kNetInterfaces},
    .reads = {{.field = Field::kLldp, .applies = IsLldpUnread}},
    .fix = "MTU 9216 on the switch port",
    .lldp_rule = &kMtuLldpRule,
};

}  // namespace fabric::rules
