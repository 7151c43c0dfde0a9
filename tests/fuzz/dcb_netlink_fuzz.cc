// What the kernel says about DCB and about addresses, which share rtnetlink.
#include "agents/host/netlink/address_netlink.h"
#include "agents/host/netlink/dcb_netlink.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto datagram = std::as_bytes(std::span(data, size));
  const auto ieee = fabric::host::ParseDcbIeee(datagram);
  if (ieee.ok() && ieee->app) Check(ieee->app->size() <= size / 8, "entries come from the input");
  if (ieee.ok() && ieee->app_trust)
    Check(ieee->app_trust->size() <= size / 8, "selectors come from the input");
  const auto cee = fabric::host::ParseDcbCee(datagram);
  Check(cee.ok() || !cee.status().message().empty(), "a refusal has a reason");
  if (cee.ok() && cee->app) Check(cee->app->size() <= size, "eight priorities an entry");
  if (const auto addresses = fabric::host::ParseAddresses(datagram); addresses.ok())
    for (const auto& address : *addresses)
      Check(address.address.find('/') != std::string::npos, "an address has a prefix");
  return 0;
}
