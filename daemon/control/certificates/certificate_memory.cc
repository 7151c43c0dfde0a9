#include "daemon/control/certificates/certificate_memory.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "proto/names.h"
#include "proto/ports.h"
#include "proto/probe_kinds.h"

namespace fabric::control {
namespace {

constexpr std::uint32_t kHostIterations = 200;  // Of 64 KiB
constexpr std::uint32_t kGpuIterations = 50;    // Of 1 MiB
constexpr std::uint32_t kMemoryTimeoutMs = 15'000;
// A port whose GPU memory is so much slower than usual in this certificate, each in relation to
// host memory of the same port, fails. The way to a GPU over the root complex costs less.
constexpr double kSlowAgainstUsual = 0.5;
constexpr double kSlowAgainstHost = 0.7;
constexpr std::size_t kPortsToCompare = 3;

// Empty: a GPU can be used.
std::string ObstacleOf(const v1::NodeSnapshot& node) {
  std::string why;
  for (const v1::Gpu& gpu : node.gpus()) {
    if (gpu.driver() != "vfio-pci" && !gpu.driver().empty()) return {};
    why = gpu.driver().empty() ? Format("GPU {} has no driver", gpu.pci_address())
                               : Format("GPU {} is given to a guest", gpu.pci_address());
  }
  return why;
}

std::string_view RegistrationName(v1::GpuMemoryRegistration registration) {
  return registration == v1::GPU_MEMORY_REGISTRATION_DMA_BUF ? "dma-buf" : "peer memory";
}

double RatioOf(const v1::CertifiedMemory& memory) {
  return memory.gpu_bandwidth_bps() / memory.host_bandwidth_bps();
}

bool HasRatio(const v1::CertifiedMemory& memory) {
  return memory.gpu_bandwidth_bps() > 0 && memory.host_bandwidth_bps() > 0;
}

// The fastest way that works, and what the others lack.
void TakeSteps(const v1::ProbeResult& result, v1::CertifiedMemory& memory) {
  std::vector<std::string> lacks;
  for (const v1::GpuMemoryStep& step : result.gpu_memory()) {
    if (!step.works()) {
      lacks.push_back(Format("{}: {}", RegistrationName(step.registration()), step.reason()));
      continue;
    }
    if (step.bandwidth().mean_bps() <= memory.gpu_bandwidth_bps()) continue;
    memory.set_memory(v1::PROBE_MEMORY_GPU);
    memory.set_gpu(step.gpu());
    memory.set_registration(step.registration());
    memory.set_gpu_bandwidth_bps(step.bandwidth().mean_bps());
  }
  memory.set_reason(lacks.empty() && memory.memory() != v1::PROBE_MEMORY_GPU ? result.reason()
                                                                             : Join(lacks, "; "));
}

}  // namespace

void CertificateMemory::AddPort(const v1::ProbePort& port, const v1::NodeSnapshot& node) {
  if (node.gpus().empty()) return;
  Tested& tested = ports_[PortName(port)];
  *tested.memory.mutable_port() = port;
  tested.memory.set_memory(v1::PROBE_MEMORY_HOST);
  tested.memory.set_reason(ObstacleOf(node));
  tested.can_be_tested = tested.memory.reason().empty();
}

void CertificateMemory::RemovePort(const v1::ProbePort& port) {
  ports_.erase(PortName(port));
}

std::vector<std::string> CertificateMemory::NodesToTest() const {
  std::set<std::string> nodes;
  for (const auto& [name, tested] : ports_)
    if (tested.can_be_tested) nodes.insert(tested.memory.port().node());
  return {nodes.begin(), nodes.end()};
}

std::vector<v1::ProbeSpec> CertificateMemory::Probes() {
  std::vector<v1::ProbeSpec> probes(2);
  probes[0].mutable_rc_write_bandwidth()->set_iterations(kHostIterations);
  probes[1].mutable_gpu_memory()->set_iterations(kGpuIterations);
  for (v1::ProbeSpec& probe : probes) probe.set_timeout_ms(kMemoryTimeoutMs);
  return probes;
}

void CertificateMemory::Take(const v1::PairResult& result) {
  const auto at = ports_.find(PortName(result.from()));
  if (at == ports_.end() || PortName(result.to()) != at->first) return;
  Tested& tested = at->second;
  const v1::ProbeResult& said = result.result();
  const v1::Measure measure = MeasureOf(result.probe());
  if (measure == v1::MEASURE_BANDWIDTH && said.has_bandwidth())
    tested.memory.set_host_bandwidth_bps(said.bandwidth().mean_bps());
  if (measure != v1::MEASURE_GPU_MEMORY) return;
  // Cancelled, a late host, an agent that is away, or a port that fails between host memory, too:
  // no statement about the memory.
  const bool of_gpu =
      said.status() == v1::PROBE_STATUS_FAILED && tested.memory.has_host_bandwidth_bps();
  if (said.status() != v1::PROBE_STATUS_OK && said.status() != v1::PROBE_STATUS_REFUSED &&
      !of_gpu) {
    tested.memory.set_reason(said.reason());
    return;
  }
  tested.tried = true;
  tested.failed = of_gpu;
  TakeSteps(said, tested.memory);
}

void CertificateMemory::SetNotTested(const std::string& reason) {
  for (auto& [name, tested] : ports_)
    if (tested.can_be_tested && !tested.tried && tested.memory.reason().empty())
      tested.memory.set_reason(reason);
}

std::vector<CertificateMemory::Problem> CertificateMemory::Problems() const {
  std::size_t tried = 0;
  std::size_t works = 0;
  std::vector<double> ratios;
  for (const auto& [name, tested] : ports_) {
    tried += tested.tried ? 1 : 0;
    works += tested.memory.memory() == v1::PROBE_MEMORY_GPU ? 1 : 0;
    if (HasRatio(tested.memory)) ratios.push_back(RatioOf(tested.memory));
  }
  std::vector<Problem> problems;
  if (2 * works <= tried) return problems;
  std::sort(ratios.begin(), ratios.end());
  const double usual = ratios.size() < kPortsToCompare ? 0 : ratios[ratios.size() / 2];
  for (const auto& [name, tested] : ports_) {
    const v1::CertifiedMemory& memory = tested.memory;
    if (tested.tried && memory.memory() != v1::PROBE_MEMORY_GPU)
      problems.push_back({memory.port().node(), tested.failed,
                          Format("{} cannot use GPU memory, which works at {} of {} ports: {}",
                                 name, works, tried, memory.reason())});
    if (!HasRatio(memory) || RatioOf(memory) >= kSlowAgainstUsual * usual ||
        RatioOf(memory) >= kSlowAgainstHost)
      continue;
    problems.push_back(
        {memory.port().node(), true,
         Format("{} reaches {} between memory of GPU {}, and {} between host memory: {:.0f} %, "
                "expected {:.0f} % as at most ports",
                name, BitRate(memory.gpu_bandwidth_bps()), memory.gpu(),
                BitRate(memory.host_bandwidth_bps()), 100 * RatioOf(memory), 100 * usual)});
  }
  return problems;
}

std::vector<v1::CertifiedMemory> CertificateMemory::Of(const std::string& node) const {
  std::vector<v1::CertifiedMemory> all;
  const std::string prefix = node + "/";
  for (auto at = ports_.lower_bound(prefix); at != ports_.end() && at->first.starts_with(prefix);
       ++at)
    all.push_back(at->second.memory);
  return all;
}

}  // namespace fabric::control
