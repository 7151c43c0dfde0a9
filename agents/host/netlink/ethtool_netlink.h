// Ethtool netlink client (get side): statistics of forward error correction and EEPROM of modules.
// Source: include/uapi/linux/ethtool_netlink.h, net/ethtool/{fec,eeprom}.c. Of generic netlink:
// the number of the family is asked for first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agents/host/ethtool.h"
#include "agents/host/netlink/netlink_client.h"
#include "base/status.h"

namespace fabric::host {

// One thread at a time. Each call blocks for at most 1 s, and the first one for 2 s.
class EthtoolNetlink {
 public:
  EthtoolNetlink();
  explicit EthtoolNetlink(NetlinkClient client) : client_(std::move(client)) {}

  // As in Ethtool.
  Result<std::vector<NamedCounter>> FecStatistics(const std::string& netdev);
  Result<std::vector<std::uint8_t>> ModuleEeprom(const std::string& netdev,
                                                 const ModulePlace& place);

 private:
  Result<int> Family();

  NetlinkClient client_;
  std::optional<int> family_;
};

// Parsers of one reply. `family`: message type of the replies.
Result<int> ParseFamily(Bytes datagram);
Result<std::vector<NamedCounter>> ParseFecStatistics(Bytes datagram, int family);
Result<std::vector<std::uint8_t>> ParseModuleEeprom(Bytes datagram, int family);

}  // namespace fabric::host
