// Configuration space: whatever the bytes are, lists end, no read goes beyond them, and what comes
// out is what the registers can say.
#include <algorithm>
#include <bit>
#include <cstring>

#include "agents/host/pci_config.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr int kReadsMax = 3000;  // More than there are places at which a capability can begin.
  int reads = 0;
  const auto read = [&](std::uint32_t offset,
                        std::span<std::uint8_t> to) -> fabric::Result<std::size_t> {
    Check(++reads < kReadsMax, "the walk ends");
    Check(offset + to.size() <= 4096, "no register beyond the space");
    const std::size_t begin = std::min<std::size_t>(offset, size);
    const std::size_t some = std::min(size - begin, to.size());
    if (some > 0) std::memcpy(to.data(), data + begin, some);
    return some;
  };
  const auto config = fabric::host::ParsePciConfig(read);
  Check(config.ok() || size < 64 || data[0] == 0xff, "a header is enough");
  if (!config.ok()) return 0;
  Check(!config->access_control || config->express, "ACS is for PCI Express");
  if (config->express) {
    Check(std::has_single_bit(config->express->payload_bytes), "payload is a power of two");
    Check(config->express->read_request_bytes >= 128, "so is a read request");
    Check(config->express->width <= 32 && config->express->width_max <= 32, "lanes");
  }
  return 0;
}
