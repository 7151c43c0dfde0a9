#include "agents/probe/gpu/gpu_regions.h"

#include <cstring>

#include "base/text.h"

namespace fabric::probe {
namespace {

constexpr std::size_t kReasonBytesMax = 300;

std::string_view Name(v1::GpuMemoryRegistration registration) {
  return registration == v1::GPU_MEMORY_REGISTRATION_DMA_BUF ? "dma-buf" : "peer memory";
}

// A region crosses as a step of a result, with its address and key as those of an endpoint.
v1::ProbeResult ToProto(std::span<const GpuRegion> regions) {
  v1::ProbeResult table;
  for (const GpuRegion& region : regions) {
    v1::GpuMemoryStep& step = *table.add_gpu_memory();
    step.set_gpu(region.gpu);
    step.set_registration(region.registration);
    step.set_works(region.status.ok());
    if (!region.status.ok()) {
      step.set_reason(region.status.message().substr(0, kReasonBytesMax));
      continue;
    }
    step.set_remote_gpu(Format("{} {}", region.registered.address, region.registered.key));
  }
  return table;
}

Result<GpuRegion> FromProto(const v1::GpuMemoryStep& step) {
  GpuRegion region{
      .gpu = step.gpu(), .registration = step.registration(), .status = {}, .registered = {}};
  if (!step.works()) {
    region.status = Status(Code::kFailedPrecondition, step.reason());
    return region;
  }
  const std::vector<std::string_view> words = Split(step.remote_gpu(), ' ');
  if (words.size() != 2) return Status(Code::kDataLoss, "a region without address and key");
  ASSIGN_OR_RETURN(region.registered.address, ParseNumber<std::uint64_t>(words[0]));
  ASSIGN_OR_RETURN(region.registered.key, ParseNumber<std::uint32_t>(words[1]));
  return region;
}

}  // namespace

GpuRegions::~GpuRegions() {
  for (const GpuRegion& region : regions_)
    if (region.status.ok()) queue_pairs_.Unregister(region.registered.region);
}

Status GpuRegions::Register(host::GpuMemory& memory, std::span<const v1::Gpu> gpus,
                            const v1::PeerMemory& peer_memory, std::size_t bytes) {
  std::vector<std::string> reasons;
  bool works = false;
  for (const v1::Gpu& gpu : gpus.first(std::min<std::size_t>(gpus.size(), kGpusMax))) {
    auto buffer = memory.Allocate(gpu.pci_address(), gpu.vendor_id(), bytes);
    const std::string hint = gpu.vendor_id() == "10de" ? PeerMemoryHint(peer_memory) : "";
    for (const v1::GpuMemoryRegistration registration :
         {v1::GPU_MEMORY_REGISTRATION_PEER_MEMORY, v1::GPU_MEMORY_REGISTRATION_DMA_BUF}) {
      GpuRegion& region = regions_.emplace_back();
      region.gpu = gpu.pci_address();
      region.registration = registration;
      region.status = buffer.status();
      if (buffer.ok()) Try(**buffer, registration, hint, bytes, region);
      works |= region.status.ok();
      if (!region.status.ok())
        reasons.push_back(
            Format("GPU {}, {}: {}", region.gpu, Name(registration), region.status.message()));
    }
    if (buffer.ok()) buffers_.push_back(*std::move(buffer));
  }
  return works ? Status() : Status(Code::kFailedPrecondition, Join(reasons, "; "));
}

void GpuRegions::Try(host::GpuBuffer& buffer, v1::GpuMemoryRegistration registration,
                     const std::string& hint, std::size_t bytes, GpuRegion& region) {
  host::DeviceMemory memory{.address = buffer.address(), .bytes = bytes};
  host::DmaBufExport exported;  // Open while it is registered; the region keeps the memory after.
  if (registration == v1::GPU_MEMORY_REGISTRATION_DMA_BUF) {
    auto made = buffer.Export();
    if (!made.ok()) {
      region.status = made.status();
      return;
    }
    exported = *std::move(made);
    memory.dma_buf = exported.file.get();
    memory.dma_buf_offset = exported.offset;
  }
  auto registered = queue_pairs_.Register(memory);
  region.status = registered.status();
  if (registered.ok())
    region.registered = *registered;
  else if (registration == v1::GPU_MEMORY_REGISTRATION_PEER_MEMORY && !hint.empty())
    region.status =
        Status(registered.status().code(), Format("{} ({})", registered.status().message(), hint));
}

Status WriteTable(std::span<const GpuRegion> regions, std::span<std::byte> table) {
  const std::string bytes = ToProto(regions).SerializeAsString();
  const auto size = static_cast<std::uint32_t>(bytes.size());
  if (bytes.size() + 4 > table.size())
    return {Code::kResourceExhausted, Format("{} bytes about GPUs do not fit", bytes.size())};
  // Both ends may differ in their byte order.
  for (int n = 0; n < 4; ++n) table[static_cast<std::size_t>(n)] = std::byte(size >> (24 - 8 * n));
  std::memcpy(table.data() + 4, bytes.data(), bytes.size());
  return {};
}

Result<std::vector<GpuRegion>> ReadTable(const std::vector<std::byte>& table) {
  std::uint32_t size = 0;
  if (table.size() < 4) return Status(Code::kDataLoss, "no table of GPUs");
  for (std::size_t n = 0; n < 4; ++n) size = size << 8 | std::to_integer<std::uint32_t>(table[n]);
  v1::ProbeResult parsed;
  if (size > table.size() - 4 || !parsed.ParseFromArray(table.data() + 4, static_cast<int>(size)) ||
      parsed.gpu_memory_size() > static_cast<int>(kGpusMax * kGpuWays))
    return Status(Code::kDataLoss, "the partner's table of GPUs cannot be read");
  std::vector<GpuRegion> regions;
  for (const v1::GpuMemoryStep& step : parsed.gpu_memory()) {
    ASSIGN_OR_RETURN(GpuRegion region, FromProto(step));
    regions.push_back(std::move(region));
  }
  return regions;
}

}  // namespace fabric::probe
