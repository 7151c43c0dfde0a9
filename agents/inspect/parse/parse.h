// Texts of sysfs and procfs as values. Pure; each takes the content of one file without its
// trailing newline. What is not in the expected format is INVALID_ARGUMENT, with what was seen.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

Result<v1::PortState> ParsePortState(std::string_view text);          // "4: ACTIVE"
Result<v1::PhysicalState> ParsePhysicalState(std::string_view text);  // "5: LinkUp"
Result<v1::NodeType> ParseNodeType(std::string_view text);            // "1: CA"
Result<v1::LinkLayer> ParseLinkLayer(std::string_view text);          // "InfiniBand", "Ethernet"
Result<v1::Protocol> ParseProtocol(std::string_view text);            // "roce", of RDMA netlink
Result<v1::OperState> ParseOperState(std::string_view text);          // "up", of a netdev
Result<v1::Trust> ParseTrust(std::string_view text);                  // "dscp", "pcp"

struct Rate {
  std::uint64_t bps = 0;
  std::uint32_t width = 0;  // Lanes
  std::string speed;        // Of one lane: "NDR"
};
// "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)"; old kernels leave "SDR" out: "10 Gb/sec (4X)".
Result<Rate> ParseRate(std::string_view text);

// "IB/RoCE v1" says both: the link layer decides. "RoCE v2" only where there is Ethernet.
Result<v1::GidType> ParseGidType(std::string_view text, v1::LinkLayer link_layer);

// "fe80:0000:0000:0000:...": eight groups of four digits. Returned in lower case.
Result<std::string> ParseGid(std::string_view text);
bool IsEmptyGid(std::string_view gid);        // All zero: the slot is not in use.
bool IsLinkLocalGid(std::string_view gid);    // fe80::/10
std::string Ipv4OfGid(std::string_view gid);  // "10.10.0.1"; empty when it is not IPv4-mapped.
std::string Ipv6OfGid(std::string_view gid);  // "2001:db8::1", as RFC 5952 writes it.

// A GUID in the kernel's spelling, four groups. The same text is returned.
Result<std::string> ParseGuidText(std::string_view text);

Result<std::string> ParseMac(std::string_view text);  // 6 or, for InfiniBand, 20 bytes.

// "0x001f": a number with or without the prefix.
Result<std::uint32_t> ParseHex(std::string_view text);

// The largest RDMA MTU that fits a netdev MTU on RoCE: 96 bytes of headers less (include/rdma/
// ib_addr.h iboe_get_mtu), rounded down to 256, 512, 1024, 2048 or 4096. Of the drivers that count
// otherwise, rxe takes 80 off (RXE_MAX_HDR_LENGTH), irdma and mana nothing. Absent when not even
// 256 fit.
std::optional<std::uint32_t> RoceMtu(std::uint32_t netdev_mtu_bytes, std::string_view driver = {});

// The value behind "KEY=" in a uevent file; empty when it is not there.
std::string_view UeventValue(std::string_view uevent, std::string_view key);

// Whether /proc/modules lists the module as live.
bool ModuleIsLive(std::string_view proc_modules, std::string_view module);

// Trust as the driver means it when it publishes this APP table. Of mlx5_core both answers are
// known; elsewhere no DSCP entry means the driver's default, so absent.
std::optional<v1::Trust> TrustOfApp(const v1::DcbConfig& dcb, std::string_view driver);

// 64 priorities by DSCP from the APP table; empty when an entry is missing that the driver does
// not define. mlx5_core: what is not listed is priority 0.
std::vector<std::uint32_t> DscpMapOfApp(const v1::DcbConfig& dcb, std::string_view driver);

// "InfiniBand", "Ethernet" CA, RNIC: the protocol where RDMA netlink does not say it.
std::optional<v1::Protocol> ProtocolOf(std::optional<v1::NodeType> type, v1::LinkLayer link_layer,
                                       std::string_view driver);

// Fit to be the name of a device or netdev in a message: printable ASCII without blanks.
bool IsPlainName(std::string_view name);

}  // namespace fabric::inspect
