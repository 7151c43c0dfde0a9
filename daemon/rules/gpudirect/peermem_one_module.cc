#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

constexpr std::uint32_t kFirstWithOwn = 470;  // The driver brings nvidia_peermem from here on.

std::uint32_t MajorOf(const std::string& version) {
  const auto major =
      ParseNumber<std::uint32_t>(std::string_view(version).substr(0, version.find('.')));
  return major.ok() ? *major : 0;
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  const v1::PeerMemory& memory = node.node->snapshot.peer_memory();
  if (node.ports.empty() || !memory.has_nv_peer_mem_loaded()) return;
  const std::string& driver = memory.gpu_driver().version();
  const bool both = memory.nvidia_peermem_loaded();
  if (!memory.nv_peer_mem_loaded() || (!both && MajorOf(driver) < kFirstWithOwn)) return out.Pass();
  const std::string seen = both ? "nv_peer_mem and nvidia_peermem" : "nv_peer_mem";
  out.Fail(SubjectOf(node),
           Format("{} loaded{}, expected nvidia_peermem alone", seen,
                  both ? "" : Format(" with driver {}", driver)),
           {ToEvidence(*node.node, {.what = "peer memory modules",
                                    .expected = "nvidia_peermem",
                                    .seen = seen,
                                    .source = "sys/module/nv_peer_mem",
                                    .basis = "NVIDIA drivers from 470 on bring nvidia_peermem"})},
           {ToRemedy({.command = "modprobe -r nv_peer_mem && modprobe nvidia_peermem",
                      .interrupts_traffic = true,
                      .note = "Also remove the package (nvidia-peer-memory-dkms), or it comes "
                              "back with the next boot."})});
}

}  // namespace

extern const Rule peermem_one_module = {
    .id = "peermem_one_module",
    .title = "The retired nv_peer_mem is not loaded beside or in place of nvidia_peermem",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "Both register for the same memory, and the old one has known deadlocks. It stays behind "
        "as a package when a GPU driver is replaced by one from 470 on, which brings its own.",
    .source = "github.com/Mellanox/nv_peer_memory README; NVIDIA driver README, nvidia-peermem",
    .needs = {Input::kPeerMemory},
    .fix = "modprobe -r nv_peer_mem && modprobe nvidia_peermem",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
