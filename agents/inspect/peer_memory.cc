#include <algorithm>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kName = "peer_memory";
constexpr const char* kClients = "sys/kernel/mm/memory_peers";

// By sys/module, and where a tree has none of that by proc/modules.
Result<bool> IsLoaded(const Host& host, const std::string& module) {
  const std::string directory = "sys/module/" + module;
  if (host.root.Has(directory)) {
    // "coming" while its init runs, and it may still fail.
    const Result<std::string> state = host.root.Text(directory + "/initstate");
    return !state.ok() || *state == "live";
  }
  ASSIGN_OR_RETURN(const std::string modules, host.root.Whole("proc/modules"));
  // Not the kernel's words: "not in the list" would be no answer.
  if (std::any_of(modules.begin(), modules.end(),
                  [](char c) { return c != '\n' && c != '\t' && (c < ' ' || c > '~'); }))
    return Status(Code::kDataLoss, "proc/modules: expected text");
  return ModuleIsLive(modules, module);
}

Status InspectPeerMemory(const Host& host, v1::NodeSnapshot& out) {
  const Gaps gaps{.snapshot = out, .inspector = kName, .subject = ""};
  const Result<bool> nvidia_peermem = IsLoaded(host, "nvidia_peermem");
  const Result<bool> nv_peer_mem = IsLoaded(host, "nv_peer_mem");
  if (!nvidia_peermem.ok()) return nvidia_peermem.status();
  v1::PeerMemory& peer_memory = *out.mutable_peer_memory();
  peer_memory.set_nvidia_peermem_loaded(*nvidia_peermem);
  if (nv_peer_mem.ok()) peer_memory.set_nv_peer_mem_loaded(*nv_peer_mem);
  for (const std::string module : {"nvidia_peermem", "nv_peer_mem"}) {
    const Result<std::string> version = host.root.Text("sys/module/" + module + "/version");
    if (version.ok() && !version->empty() && !peer_memory.has_version())
      peer_memory.set_version(*version);
  }
  // Only kernels with the out-of-tree peer memory interface have this directory.
  const Result<std::vector<std::string>> clients = PlainNames(host, kClients, gaps);
  if (clients.ok())
    peer_memory.mutable_clients()->Add(clients->begin(), clients->end());
  else if (clients.status().code() != Code::kNotFound || host.root.Has(kClients))
    gaps.Add(kClients, clients.status());
  return {};
}

}  // namespace

extern const Inspector peer_memory = {
    .name = kName,
    .doc = "The kernel side of GPUDirect RDMA: nvidia_peermem, nv_peer_mem and their clients.",
    .inspect = InspectPeerMemory,
};

}  // namespace fabric::inspect
