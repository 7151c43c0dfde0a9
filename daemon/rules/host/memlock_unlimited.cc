#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

std::string Show(const v1::MemoryLimit& limit) {
  if (limit.unlimited()) return "unlimited";
  const std::uint64_t bytes = limit.has_soft_bytes() ? limit.soft_bytes() : limit.hard_bytes();
  return bytes >= 1U << 20 ? Format("{} MiB", bytes >> 20) : Format("{} KiB", bytes >> 10);
}

// Set by somebody: what systemd does by itself says nothing about services with a limit of their
// own, as those that run jobs have.
bool IsSet(const v1::MemoryLimit& limit) {
  return limit.source().find("default") == std::string::npos;
}

// What a job gets is known: another rule's. Else that of users, and of services.
const v1::MemoryLimit* TooSmall(const v1::HostFacts& host, bool* known) {
  *known = false;
  if (host.has_default_user_memlock()) {
    *known = true;
    if (!host.default_user_memlock().unlimited()) return &host.default_user_memlock();
  }
  if (host.has_default_service_memlock() && IsSet(host.default_service_memlock())) {
    *known = true;
    if (!host.default_service_memlock().unlimited()) return &host.default_service_memlock();
  }
  return nullptr;
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const bool by_profile = node.expected().memlock_unlimited();
  const bool wanted = node.expected().has_memlock_unlimited() ? by_profile : HasGpuInUse(snapshot);
  if (!wanted || node.ports.empty() || snapshot.job().has_memlock()) return;
  bool known = false;
  const v1::MemoryLimit* const limit = TooSmall(snapshot.host(), &known);
  if (!known) return;
  if (limit == nullptr) return out.Pass();
  const bool of_users = limit == &snapshot.host().default_user_memlock();
  const std::string whose = of_users ? "users" : "services";
  out.Fail(SubjectOf(node),
           Format("locked memory of {} is limited to {}, expected unlimited", whose, Show(*limit)),
           {ToEvidence(*node.node, {.what = Format("locked memory (memlock) of {}", whose),
                                    .expected = "unlimited",
                                    .seen = Show(*limit),
                                    .source = limit->source(),
                                    .basis = by_profile ? ProfileBasis(*node.expectation)
                                                        : "GPUs and RDMA in one machine"})},
           {ToRemedy({.command = of_users ? "printf '* soft memlock unlimited\\n* hard memlock "
                                            "unlimited\\n' > /etc/security/limits.d/99-rdma.conf"
                                          : "systemctl edit slurmd  # [Service] "
                                            "LimitMEMLOCK=infinity",
                      .note = "For new logins and after a restart of the service. Jobs of Slurm "
                              "and containers take what slurmd, containerd or docker have: set "
                              "LimitMEMLOCK=infinity there too."})});
}

}  // namespace

extern const Rule memlock_unlimited = {
    .id = "memlock_unlimited",
    .title = "Where GPUs and RDMA are, nobody has limited locked memory",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "RDMA locks the memory that it uses. Under a limit registering it fails with 'Cannot "
        "allocate memory', at the start of a job or at its first large message. Only limits that "
        "were set are judged: services that run jobs have their own.",
    .source =
        "kernel drivers/infiniband/core/umem.c (RLIMIT_MEMLOCK); "
        "github.com/NVIDIA/nccl-tests/issues/206",
    .needs = {Input::kHostLimits},
    .profile = {v1::Expectations::kMemlockUnlimitedFieldNumber},
    .fix = "memlock unlimited in limits.d; LimitMEMLOCK=infinity in services",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
