// Management datagrams through /dev/infiniband/umadN. Sends requests only; never opens issmN, which
// would claim to be a subnet manager. Source: Linux, include/uapi/rdma/ib_user_mad.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace fabric::host {

struct UmadPort {
  std::string device;  // "mlx5_0"
  std::uint32_t port = 0;
  std::string path;  // "/dev/infiniband/umad0"
};
// Ports of InfiniBand devices with a umad device, by name.
Result<std::vector<UmadPort>> ListUmadPorts();

struct UmadPacket {
  bool directed = false;  // Subnet management by directed route; else by the class in the packet
  std::uint16_t lid = 0;  // Destination, if not directed
  bool lost = false;      // Received: the kernel reports that no answer came.
  std::array<std::uint8_t, 256> mad{};
};

class Umad {
 public:
  virtual ~Umad() = default;
  virtual Status Send(const UmadPacket& packet, Duration timeout) = 0;
  // Waits at most `wait`. Empty: nothing arrived.
  virtual Result<std::optional<UmadPacket>> Receive(Duration wait) = 0;
};
// PERMISSION_DENIED without the right to open the device. The error names the path.
Result<std::unique_ptr<Umad>> OpenUmad(const UmadPort& port);

}  // namespace fabric::host
