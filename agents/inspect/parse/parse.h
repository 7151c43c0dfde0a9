// Parsers for sysfs and procfs files. Pure; each takes the content of one file without its trailing
// newline. INVALID_ARGUMENT with the text for other formats.
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

// "IB/RoCE v1" is ambiguous: the link layer decides. "RoCE v2" needs Ethernet.
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

// The largest RDMA MTU that fits a netdev MTU on RoCE: minus 96 bytes of headers (include/rdma/
// ib_addr.h iboe_get_mtu), rounded down to 256, 512, 1024, 2048 or 4096. Exceptions: rxe subtracts
// 80 (RXE_MAX_HDR_LENGTH), irdma and mana nothing. Absent below 256.
std::optional<std::uint32_t> RoceMtu(std::uint32_t netdev_mtu_bytes, std::string_view driver = {});

// The value after "KEY=" in a uevent file; empty without the key.
std::string_view UeventValue(std::string_view uevent, std::string_view key);

// Whether /proc/modules lists the module as live.
bool ModuleIsLive(std::string_view proc_modules, std::string_view module);

// Trust mode that an APP table implies. Certain for mlx5_core; for other drivers, a table without
// DSCP entries means the driver's default, so absent.
std::optional<v1::Trust> TrustOfApp(const v1::DcbConfig& dcb, std::string_view driver);

// 64 priorities by DSCP from the APP table; empty when an entry is missing and the driver has no
// default. mlx5_core: DSCPs without an entry have priority 0.
std::vector<std::uint32_t> DscpMapOfApp(const v1::DcbConfig& dcb, std::string_view driver);

// "InfiniBand", "Ethernet" CA, RNIC: the protocol when RDMA netlink does not report it.
std::optional<v1::Protocol> ProtocolOf(std::optional<v1::NodeType> type, v1::LinkLayer link_layer,
                                       std::string_view driver);

// Whether a device or netdev name can be used in messages: printable ASCII without blanks.
bool IsPlainName(std::string_view name);

}  // namespace fabric::inspect
