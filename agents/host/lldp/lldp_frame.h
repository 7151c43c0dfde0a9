// LLDP frame parser (IEEE 802.1AB), with the TLVs of 802.1Q (DCBX of 802.1Qaz) and 802.3. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace fabric::host {

struct LldpPfc {
  bool willing = false;
  bool mbc = false;
  std::uint32_t capability = 0;
  std::uint32_t enabled_mask = 0;
};

struct LldpEts {
  bool willing = false;  // Not in a recommendation TLV
  bool cbs = false;
  std::uint32_t traffic_classes = 8;  // 8 where the TLV says 0.
  std::array<std::uint8_t, 8> priority_to_tc{};
  std::array<std::uint8_t, 8> tc_bandwidth_percent{};
  std::array<std::uint8_t, 8> tc_algorithm{};
};

struct LldpApp {
  std::uint32_t selector = 0;
  std::uint32_t protocol = 0;
  std::uint32_t priority = 0;
};

// Texts are printable ASCII; addresses have their usual format.
struct LldpFrame {
  std::string chassis_id;
  std::uint32_t chassis_id_subtype = 0;
  std::string port_id;
  std::uint32_t port_id_subtype = 0;
  std::uint32_t ttl_s = 0;  // 0: the neighbor shuts down.
  std::optional<std::string> port_description;
  std::optional<std::string> system_name;
  std::optional<std::string> system_description;
  std::vector<std::string> management_addresses;
  std::optional<std::uint32_t> port_vlan_id;
  std::optional<std::uint32_t> max_frame_bytes;
  std::optional<LldpPfc> pfc;
  std::optional<LldpEts> ets_configuration;
  std::optional<LldpEts> ets_recommendation;
  std::vector<LldpApp> applications;
  bool application_announced = false;
  bool cee_announced = false;
  bool link_aggregation_enabled = false;
  std::optional<std::uint32_t> link_aggregation_port_id;
};

// Parses the bytes after the Ethernet header. INVALID_ARGUMENT when the three mandatory TLVs do not
// come first, or a TLV exceeds the frame. Skips unknown TLVs and those with too short content.
Result<LldpFrame> ParseLldpFrame(std::span<const std::uint8_t> frame);

// Adds an organizationally specific TLV; `content` starts after the subtype.
void ReadLldpTlv(std::uint32_t oui, std::uint8_t subtype, std::span<const std::uint8_t> content,
                 LldpFrame& frame);

// Text of a frame as printable ASCII, without surrounding blanks.
std::string LldpText(std::string text);

}  // namespace fabric::host
