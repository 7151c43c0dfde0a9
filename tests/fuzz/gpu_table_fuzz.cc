// What a partner lays open about its GPUs, read out of its memory: any bytes.
#include <vector>

#include "agents/probe/gpu/gpu_regions.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fabric::probe;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto regions = ReadTable({bytes.begin(), bytes.end()});
  if (!regions.ok()) return 0;
  Check(regions->size() <= kGpusMax * kGpuWays, "no more than the ways of eight GPUs");
  std::vector<std::byte> table(size + kGpuTableBytes);
  if (!WriteTable(*regions, table).ok()) return 0;
  const auto again = ReadTable(table);
  Check(again.ok() && again->size() == regions->size(), "what is written is read");
  for (std::size_t n = 0; n < again->size(); ++n) {
    const GpuRegion& one = (*regions)[n];
    const GpuRegion& other = (*again)[n];
    Check(one.gpu == other.gpu && one.registration == other.registration &&
              one.status.ok() == other.status.ok() &&
              one.registered.address == other.registered.address &&
              one.registered.key == other.registered.key,
          "a region stays what it was");
  }
  return 0;
}
