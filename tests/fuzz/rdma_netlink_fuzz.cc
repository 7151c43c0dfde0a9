// What the kernel says about RDMA: whatever the bytes are, no read beyond them, and only text and
// complete records come out.
#include <cstring>
#include <vector>

#include "agents/host/netlink/rdma_netlink.h"
#include "agents/host/printable.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto datagram = std::as_bytes(std::span(data, size));
  if (const auto devices = fabric::host::ParseRdmaDevices(datagram); devices.ok()) {
    for (const auto& device : *devices) {
      Check(!device.name.empty() && fabric::host::IsText(device.name), "a device has a name");
      Check(fabric::host::IsText(device.firmware.value_or("")), "firmware is text");
    }
  }
  if (const auto links = fabric::host::ParseRdmaLinks(datagram); links.ok()) {
    Check(links->size() <= size / 16, "no more links than messages");
    for (const auto& link : *links)
      Check(fabric::host::IsText(link.netdev_name.value_or("")), "a netdev's name is text");
  }
  (void)fabric::host::ParseRdmaSystem(datagram).ok();
  if (const auto counters = fabric::host::ParseRdmaCounters(datagram); counters.ok()) {
    for (const auto& counter : *counters)
      Check(!counter.name.empty() && fabric::host::IsText(counter.name), "a counter has a name");
  }
  return 0;
}
