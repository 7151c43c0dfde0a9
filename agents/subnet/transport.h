// Transport of management datagrams to a subnet, from one port of this node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "subnet/mad/mad.h"

namespace fabric::agent {

inline constexpr std::uint16_t kPermissiveLid = 0xffff;

struct MadPacket {
  std::uint16_t lid = kPermissiveLid;  // Destination; kPermissiveLid: directed route
  bool lost = false;                   // The transport reports that no answer came.
  subnet::Mad mad{};                   // The request, if `lost`
};

class MadTransport {
 public:
  virtual ~MadTransport() = default;
  // `timeout`: after it the transport may report the request as lost.
  virtual Status Send(const MadPacket& packet, Duration timeout) = 0;
  // Waits at most `wait` for a packet. Empty: none.
  virtual Result<std::optional<MadPacket>> Receive(Duration wait) = 0;
  virtual std::string name() const = 0;  // "mlx5_0 port 1"
};

}  // namespace fabric::agent
