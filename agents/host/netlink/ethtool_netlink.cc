#include "agents/host/netlink/ethtool_netlink.h"

#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>

#include <cstring>

#include "agents/host/netlink/netlink_reader.h"
#include "base/text.h"

namespace fabric::host {
namespace {

NetlinkRequest EthtoolRequest(int family, std::uint8_t command) {
  NetlinkRequest request(family, 0);
  request.Header(genlmsghdr{.cmd = command, .version = ETHTOOL_GENL_VERSION, .reserved = 0});
  return request;
}

// Calls `each` for the attributes of the replies, which follow a generic netlink header.
template <class Each>
Status ForEachGenericAttribute(Bytes datagram, int family, const Each& each) {
  return ForEachReply(datagram, family, [&](Bytes message) -> Status {
    RETURN_IF_ERROR(ReadStruct<genlmsghdr>(message, "generic netlink header").status());
    return ForEachAttribute(message.subspan(sizeof(genlmsghdr)), each);
  });
}

// The first value is the total; those of the lanes follow. Empty: the driver does not count it.
Status TakeTotal(const NetlinkAttribute& attribute, std::string_view name,
                 std::vector<NamedCounter>& to) {
  if (attribute.payload.empty()) return {};
  std::uint64_t total = 0;
  if (attribute.payload.size() % sizeof(total) != 0)
    return WrongSize(name, sizeof(total), attribute.payload.size());
  std::memcpy(&total, attribute.payload.data(), sizeof(total));
  constexpr std::uint64_t kNotSet = ~std::uint64_t{0};  // ETHTOOL_STAT_NOT_SET
  if (total != kNotSet) to.push_back({.name = std::string(name), .value = total});
  return {};
}

Status TakeStatistic(const NetlinkAttribute& attribute, std::vector<NamedCounter>& to) {
  switch (attribute.type) {
    case ETHTOOL_A_FEC_STAT_CORRECTED: return TakeTotal(attribute, "corrected_blocks", to);
    case ETHTOOL_A_FEC_STAT_UNCORR: return TakeTotal(attribute, "uncorrectable_blocks", to);
    case ETHTOOL_A_FEC_STAT_CORR_BITS: return TakeTotal(attribute, "corrected_bits", to);
    default: return {};
  }
}

}  // namespace

EthtoolNetlink::EthtoolNetlink() : client_([] { return NetlinkSocket::Open(NETLINK_GENERIC); }) {}

Result<int> EthtoolNetlink::Family() {
  if (family_) return *family_;
  NetlinkRequest request(GENL_ID_CTRL, 0);
  request.Header(genlmsghdr{.cmd = CTRL_CMD_GETFAMILY, .version = 1, .reserved = 0})
      .Text(CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME);
  const Result<int> family = client_.Ask(request, "looking up ethtool netlink", ParseFamily);
  if (!family.ok() && family.status().code() == Code::kNotFound)
    return Status(Code::kUnimplemented, "this kernel has no ethtool netlink");
  if (family.ok()) family_ = *family;
  return family;
}

Result<std::vector<NamedCounter>> EthtoolNetlink::FecStatistics(const std::string& netdev) {
  ASSIGN_OR_RETURN(const int family, Family());
  NetlinkRequest request = EthtoolRequest(family, ETHTOOL_MSG_FEC_GET);
  request.Begin(ETHTOOL_A_FEC_HEADER)
      .Text(ETHTOOL_A_HEADER_DEV_NAME, netdev)
      .Number(ETHTOOL_A_HEADER_FLAGS, ETHTOOL_FLAG_STATS)
      .End();
  const Result<Bytes> reply = client_.Ask(request);
  if (!reply.ok()) return reply.status().In("FEC statistics of " + netdev);
  Result<std::vector<NamedCounter>> parsed = ParseFecStatistics(*reply, family);
  if (!parsed.ok()) return parsed.status().In("FEC statistics of " + netdev);
  return parsed;
}

Result<std::vector<std::uint8_t>> EthtoolNetlink::ModuleEeprom(const std::string& netdev,
                                                               const ModulePlace& place) {
  ASSIGN_OR_RETURN(const int family, Family());
  NetlinkRequest request = EthtoolRequest(family, ETHTOOL_MSG_MODULE_EEPROM_GET);
  request.Begin(ETHTOOL_A_MODULE_EEPROM_HEADER)
      .Text(ETHTOOL_A_HEADER_DEV_NAME, netdev)
      .End()
      .Number(ETHTOOL_A_MODULE_EEPROM_OFFSET, place.offset)
      .Number(ETHTOOL_A_MODULE_EEPROM_LENGTH, place.length)
      .Byte(ETHTOOL_A_MODULE_EEPROM_PAGE, place.page)
      .Byte(ETHTOOL_A_MODULE_EEPROM_BANK, 0)
      .Byte(ETHTOOL_A_MODULE_EEPROM_I2C_ADDRESS, place.i2c_address);
  const Result<Bytes> reply = client_.Ask(request);
  if (!reply.ok()) return reply.status().In("module of " + netdev);
  Result<std::vector<std::uint8_t>> parsed = ParseModuleEeprom(*reply, family);
  if (!parsed.ok()) return parsed.status().In("module of " + netdev);
  return parsed;
}

Result<int> ParseFamily(Bytes datagram) {
  std::optional<std::uint16_t> family;
  RETURN_IF_ERROR(ForEachGenericAttribute(
      datagram, GENL_ID_CTRL, [&](const NetlinkAttribute& attribute) -> Status {
        if (attribute.type != CTRL_ATTR_FAMILY_ID) return {};
        return ReadInteger<std::uint16_t>(attribute, "family id", family);
      }));
  if (!family) return Status(Code::kInvalidArgument, "netlink: a family without a number");
  return *family;
}

Result<std::vector<NamedCounter>> ParseFecStatistics(Bytes datagram, int family) {
  std::vector<NamedCounter> counters;
  const auto take = [&](const NetlinkAttribute& attribute) -> Status {
    if (attribute.type != ETHTOOL_A_FEC_STATS) return {};
    return ForEachAttribute(attribute.payload, [&](const NetlinkAttribute& statistic) {
      return TakeStatistic(statistic, counters);
    });
  };
  RETURN_IF_ERROR(ForEachGenericAttribute(datagram, family, take));
  if (counters.empty()) return Status(Code::kUnimplemented, "the driver counts none");
  return counters;
}

Result<std::vector<std::uint8_t>> ParseModuleEeprom(Bytes datagram, int family) {
  std::vector<std::uint8_t> bytes;
  const auto take = [&](const NetlinkAttribute& attribute) -> Status {
    if (attribute.type != ETHTOOL_A_MODULE_EEPROM_DATA) return {};
    for (const std::byte byte : attribute.payload)
      bytes.push_back(std::to_integer<std::uint8_t>(byte));
    return {};
  };
  RETURN_IF_ERROR(ForEachGenericAttribute(datagram, family, take));
  if (bytes.empty()) return Status(Code::kDataLoss, "an answer without data");
  return bytes;
}

}  // namespace fabric::host
