// Memory of the own GPUs, registered in both ways, and what the other end is told of it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agents/host/gpu/gpu_memory.h"
#include "agents/host/verbs/queue_pairs.h"
#include "agents/probe/gpu/gpu_choice.h"
#include "base/status.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::probe {

// One GPU and way.
struct GpuRegion {
  std::string gpu;
  v1::GpuMemoryWay way = v1::GPU_MEMORY_WAY_UNSPECIFIED;
  Status status;                      // Why it cannot be used
  host::RegisteredMemory registered;  // When it can
};

inline constexpr std::uint32_t kGpusMax = 8;
inline constexpr std::uint32_t kGpuWays = 2;

// Takes them back when it is destroyed, which has to be before the queue pairs are.
class GpuRegions {
 public:
  explicit GpuRegions(host::RcQueuePairs& queue_pairs) : queue_pairs_(queue_pairs) {}
  GpuRegions(const GpuRegions&) = delete;
  GpuRegions& operator=(const GpuRegions&) = delete;
  ~GpuRegions();

  // Tries both ways for each GPU. FAILED_PRECONDITION when none works for any, with the reasons.
  Status Register(host::GpuMemory& memory, std::span<const v1::Gpu> gpus,
                  const v1::PeerMemory& peer_memory, std::size_t bytes);
  const std::vector<GpuRegion>& all() const { return regions_; }

 private:
  void Try(host::GpuBuffer& buffer, v1::GpuMemoryWay way, const std::string& hint,
           std::size_t bytes, GpuRegion& region);

  host::RcQueuePairs& queue_pairs_;
  std::vector<std::unique_ptr<host::GpuBuffer>> buffers_;
  std::vector<GpuRegion> regions_;
};

// For the other end to read. Reasons are cut; RESOURCE_EXHAUSTED when it does not fit all the same.
inline constexpr std::uint32_t kGpuTableBytes = 16 << 10;
Status WriteTable(std::span<const GpuRegion> regions, std::span<std::byte> table);
// DATA_LOSS for what no agent writes.
Result<std::vector<GpuRegion>> ReadTable(std::span<const std::byte> table);

}  // namespace fabric::probe
