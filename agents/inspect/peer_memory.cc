#include <algorithm>
#include <array>

#include "agents/inspect/attributes.h"
#include "agents/inspect/dma_buf.h"
#include "agents/inspect/parse/parse.h"
#include "agents/inspect/report/pci_text.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kPeerMemoryName = "peer_memory";
constexpr const char* kMemory = "sys/kernel/mm";
constexpr const char* kClients = "sys/kernel/mm/memory_peers";
constexpr const char* kNvidiaVersion = "proc/driver/nvidia/version";
constexpr const char* kModules = "proc/modules";

// Modules by sys/module, and where a tree has none of that by proc/modules.
class Modules {
 public:
  explicit Modules(const Host& host)
      : host_(host),
        // There for every kernel with modules: whoever captured it captured all.
        complete_(host.root.Has("sys/module/kernel") ||
                  (!host.captured && host.root.Has("sys/module"))),
        list_(host.root.Whole(kModules)) {
    // Not the kernel's words: "not in the list" would be no answer.
    if (list_.ok() && std::any_of(list_->begin(), list_->end(), [](char c) {
          return c != '\n' && c != '\t' && (c < ' ' || c > '~');
        }))
      list_ = Status(Code::kDataLoss, "expected text").At("proc/modules");
  }

  Result<bool> IsLoaded(const std::string& module) const {
    const std::string directory = "sys/module/" + module;
    if (host_.root.Has(directory)) {
      // "coming" while its init runs, and it may still fail.
      const Result<std::string> state = host_.root.Text(directory + "/initstate");
      return !state.ok() || *state == "live";
    }
    if (list_.ok()) return ModuleIsLive(*list_, module);
    if (complete_) return false;
    return list_.status();
  }

  // Whether `user` uses symbols of `module`; absent when unknown.
  std::optional<bool> Uses(const std::string& user, const std::string& module) const {
    const std::string holders = "sys/module/" + module + "/holders";
    if (const Result<Dir> dir = host_.root.Sub(holders); dir.ok()) return dir->Has(user);
    if (!list_.ok()) return std::nullopt;
    const auto users = ModuleUsers(*list_, module);
    if (!users) return std::nullopt;
    return std::count(users->begin(), users->end(), user) > 0;
  }

  std::optional<std::string> Version(const std::string& module) const {
    Result<std::string> version = host_.root.Text("sys/module/" + module + "/version");
    if (!version.ok() || version->empty()) return std::nullopt;
    return *std::move(version);
  }

 private:
  const Host& host_;
  bool complete_;
  Result<std::string> list_;
};

bool Lists(const v1::PeerMemory& peer, std::string_view client) {
  return std::count(peer.clients().begin(), peer.clients().end(), client) > 0;
}

// Whether ib_core has the out-of-tree interface at all: a captured tree must have the folder in
// which it would be.
std::optional<bool> HasInterface(const Host& host) {
  if (host.root.Has(kClients)) return true;
  if (!host.captured || host.root.Has(kMemory)) return false;
  return std::nullopt;
}

void SetBound(v1::PeerMemory& peer, std::optional<bool> bound, std::string reason) {
  if (bound) peer.set_bound_to_ib_core(*bound);
  peer.set_bound_reason(std::move(reason));
}

// By what ib_core says about its clients; else by who uses its symbols: without the interface in
// ib_core there is nothing that the module could use of it.
void ReadBinding(const Host& host, const Modules& modules, bool amdgpu, v1::PeerMemory& peer) {
  const std::optional<bool> has_interface = HasInterface(host);
  const std::string module = peer.nvidia_peermem_loaded() ? "nvidia_peermem" : "nv_peer_mem";
  if (!peer.nvidia_peermem_loaded() && !peer.nv_peer_mem_loaded()) {
    if (amdgpu && Lists(peer, "amdkfd"))
      SetBound(peer, true, "memory_peers lists amdkfd");
    else if (amdgpu && has_interface)
      SetBound(peer, false,
               *has_interface ? "memory_peers does not list amdkfd"
                              : "ib_core has no peer memory interface");
    else if (peer.has_nvidia_peermem_loaded())
      SetBound(peer, std::nullopt, "no peer memory module is loaded");
    return;
  }
  if (Lists(peer, "nv_mem") || Lists(peer, "nv_mem_nc")) {
    SetBound(peer, true, "memory_peers lists nv_mem");
    return;
  }
  if (has_interface == true) {
    SetBound(peer, false, Format("{} is loaded, but memory_peers does not list nv_mem", module));
    return;
  }
  // Where user memory is ib_uverbs' business, the interface is there: Ubuntu, newer MLNX_OFED.
  if (modules.Uses(module, "ib_uverbs") == true) {
    SetBound(peer, true, Format("ib_uverbs is used by {}", module));
    return;
  }
  const std::optional<bool> uses = modules.Uses(module, "ib_core");
  const Result<bool> core = modules.IsLoaded("ib_core");
  if (uses)
    SetBound(peer, *uses, Format("ib_core is {}used by {}", *uses ? "" : "not ", module));
  else if (has_interface == false && core.ok())
    SetBound(peer, false, *core ? "ib_core has no peer memory interface" : "ib_core is not loaded");
  else
    SetBound(
        peer, std::nullopt,
        Format("{} is loaded; neither memory_peers nor the users of ib_core are known", module));
}

void ReadClients(const Host& host, const Gaps& gaps, v1::PeerMemory& peer) {
  // Only kernels with the out-of-tree peer memory interface have this directory.
  const Result<std::vector<std::string>> clients = PlainNames(host, kClients, gaps);
  if (clients.ok())
    peer.mutable_clients()->Add(clients->begin(), clients->end());
  else if (clients.status().code() != Code::kNotFound || host.root.Has(kClients))
    gaps.Add(kClients, clients.status());
}

void ReadGpuDriver(const Host& host, const Modules& modules, const Gaps& gaps,
                   v1::PeerMemory& peer) {
  const auto has = [&](std::string_view driver) {
    return std::any_of(gaps.snapshot.gpus().begin(), gaps.snapshot.gpus().end(),
                       [&](const v1::Gpu& gpu) { return gpu.driver() == driver; });
  };
  const Result<std::string> text = host.root.Text(kNvidiaVersion);
  if (text.ok() || has("nvidia")) {
    v1::GpuDriver& driver = *peer.mutable_gpu_driver();
    driver.set_name("nvidia");
    const Result<NvidiaVersion> version =
        text.ok() ? ParseNvidiaVersion(*text) : Result<NvidiaVersion>(text.status());
    if (version.ok()) {
      driver.set_version(version->version);
      driver.set_open_module(version->open);
      return;
    }
    gaps.Add(kNvidiaVersion, version.status());
    if (auto module = modules.Version("nvidia")) driver.set_version(*std::move(module));
  } else if (has("amdgpu")) {
    v1::GpuDriver& driver = *peer.mutable_gpu_driver();
    driver.set_name("amdgpu");
    // The kernel's own has no version but the kernel's.
    if (auto module = modules.Version("amdgpu")) driver.set_version(*std::move(module));
  }
}

void ReadDmaBuf(const Host& host, v1::NodeSnapshot& out) {
  if (out.gpus().empty()) return;
  v1::PeerMemory& peer = *out.mutable_peer_memory();
  DmaBufFacts facts{.kernel_release = out.node().kernel_release(),
                    .gpu_drivers = {},
                    .nvidia_open = {},
                    .devices = {}};
  for (const v1::Gpu& gpu : out.gpus()) facts.gpu_drivers.push_back(gpu.driver());
  if (peer.gpu_driver().has_open_module()) facts.nvidia_open = peer.gpu_driver().open_module();
  for (const v1::RdmaDevice& device : out.rdma_devices()) {
    if (!device.has_pci_address()) continue;
    DmaBufDevice& fact = facts.devices.emplace_back();
    fact.name = device.name();
    fact.driver = device.driver();
    if (host.captured) continue;
    const Result<bool> takes = host.verbs.TakesDmaBuf(device.name());
    if (takes.ok())
      fact.takes = *takes;
    else
      AddGap(out, kPeerMemoryName, device.name(), "verbs dma-buf " + device.name(), takes.status());
  }
  *peer.mutable_dma_buf() = DecideDmaBuf(facts);
}

Status InspectPeerMemory(const Host& host, v1::NodeSnapshot& out) {
  const Gaps gaps{.snapshot = out, .inspector = kPeerMemoryName, .subject = ""};
  const Modules modules(host);
  v1::PeerMemory peer;
  if (const auto loaded = modules.IsLoaded("nvidia_peermem"); loaded.ok())
    peer.set_nvidia_peermem_loaded(*loaded);
  else
    gaps.Add(kModules, loaded.status());
  if (const auto loaded = modules.IsLoaded("nv_peer_mem"); loaded.ok())
    peer.set_nv_peer_mem_loaded(*loaded);
  if (const auto loaded = modules.IsLoaded("nvidia_fs"); loaded.ok())
    peer.set_nvidia_fs_loaded(*loaded);
  if (const auto loaded = modules.IsLoaded("gdrdrv"); loaded.ok()) peer.set_gdrdrv_loaded(*loaded);
  for (const char* module : {"nvidia_peermem", "nv_peer_mem"})
    if (auto version = modules.Version(module); version && !peer.has_version())
      peer.set_version(*std::move(version));
  ReadClients(host, gaps, peer);
  const bool amdgpu = std::any_of(out.gpus().begin(), out.gpus().end(),
                                  [](const v1::Gpu& gpu) { return gpu.driver() == "amdgpu"; });
  ReadBinding(host, modules, amdgpu, peer);
  ReadGpuDriver(host, modules, gaps, peer);
  if (peer.ByteSizeLong() > 0) *out.mutable_peer_memory() = std::move(peer);
  ReadDmaBuf(host, out);
  return {};
}

}  // namespace

extern const Inspector peer_memory = {
    .name = kPeerMemoryName,
    .doc = "GPUDirect RDMA: peer memory modules, their binding to ib_core, dma-buf support.",
    .inspect = InspectPeerMemory,
    .wakes = EventKind::kHotplug | EventKind::kModule | EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kPeerMemoryFieldNumber},
};

}  // namespace fabric::inspect
