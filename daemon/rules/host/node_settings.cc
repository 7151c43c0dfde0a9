#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

constexpr char kReleaseFile[] = "proc/sys/kernel/osrelease";
constexpr char kModulesFile[] = "proc/modules";
constexpr char kNetnsModeFile[] = "sys/module/ib_core/parameters/netns_mode";
constexpr char kHugePagesFile[] = "sys/kernel/mm/hugepages";

// The source of a value that is the same file on all nodes.
template <const char* kFile>
std::string Constant(const Member&) {
  return kFile;
}

// kernel_release_equal

std::optional<Value> KernelRelease(const Member& member) {
  const std::string& release = member.snapshot().node().kernel_release();
  if (member.node->ports.empty() || release.empty()) return {};
  return Value{.text = release};
}

std::optional<Value> ExpectedRelease(const v1::Expectations& expected) {
  if (!expected.has_kernel_release()) return {};
  return Value{.text = expected.kernel_release()};
}

std::vector<v1::Remedy> InstallKernel(const Member&, const Value& expected) {
  return {ToRemedy({.command = Format("uname -r  # expected {}", expected.text),
                    .interrupts_traffic = true,
                    .note = "Install the kernel or the image of the other nodes, and reboot. If it "
                            "is installed, reboot, or check for a pinned boot entry."})};
}

// A node with another image also has another distribution, with the same cause.
void AddDistribution(const Member& member, const Member& good,
                     std::vector<v1::Evidence>& evidence) {
  const v1::HostFacts& host = member.snapshot().host();
  const v1::HostFacts& usual = good.snapshot().host();
  if (!host.has_distribution() || !usual.has_distribution() ||
      host.distribution() == usual.distribution())
    return;
  evidence.push_back(ToEvidence(*member.node->node, {.what = "distribution",
                                                     .expected = usual.distribution(),
                                                     .seen = host.distribution(),
                                                     .source = "etc/os-release",
                                                     .basis = good.node->node->name}));
}

constexpr EqualityRule kRelease[] = {{.what = "kernel release",
                                      .of_nodes = true,
                                      .group = ByProduct,
                                      .value = KernelRelease,
                                      .expected = ExpectedRelease,
                                      .show = ShowText,
                                      .source = Constant<kReleaseFile>,
                                      .remedies = InstallKernel,
                                      .more = AddDistribution}};

// rdma_stack_equal

// Without a profile, only OFED or inbox. driver_version_equal compares versions.
std::optional<Value> RdmaStack(const Member& member) {
  const v1::HostFacts& host = member.snapshot().host();
  if (member.node->ports.empty() || !host.has_rdma_stack()) return {};
  if (!member.expectation().values.has_rdma_stack_version())
    return Value{.number = static_cast<std::uint64_t>(host.rdma_stack())};
  if (host.rdma_stack() == v1::RDMA_STACK_INBOX) return Value{.text = "inbox"};
  if (!host.has_rdma_stack_version()) return {};
  return Value{.text = host.rdma_stack_version()};
}

std::optional<Value> ExpectedStack(const v1::Expectations& expected) {
  if (!expected.has_rdma_stack_version()) return {};
  return Value{.text = expected.rdma_stack_version()};
}

std::string ShowStack(const Value& value) {
  if (!value.text.empty()) return std::string(value.text);
  return value.number == v1::RDMA_STACK_OFED ? "OFED (out of tree)" : "inbox (of the kernel)";
}

std::vector<v1::Remedy> InstallOfed(const Member&, const Value&) {
  return {ToRemedy({.command = "ofed_info -s; modinfo -F version mlx5_core",
                    .interrupts_traffic = true,
                    .note = "Install the OFED of the other nodes for the running kernel. Rebuild "
                            "its modules after a kernel update (dkms status). Then run "
                            "/etc/init.d/openibd restart, or reboot."})};
}

constexpr EqualityRule kStack[] = {{.what = "RDMA stack",
                                    .of_nodes = true,
                                    .group = ByProduct,
                                    .value = RdmaStack,
                                    .expected = ExpectedStack,
                                    .show = ShowStack,
                                    .source = Constant<kModulesFile>,
                                    .remedies = InstallOfed}};

// rdma_netns_mode_equal

std::optional<Value> NetnsMode(const Member& member) {
  const v1::HostFacts& host = member.snapshot().host();
  if (member.node->ports.empty() || !host.has_rdma_netns_mode()) return {};
  return Value{static_cast<std::uint64_t>(host.rdma_netns_mode())};
}

std::string ShowNetnsMode(const Value& value) {
  return value.number == v1::RDMA_NETNS_MODE_EXCLUSIVE ? "exclusive" : "shared";
}

std::vector<v1::Remedy> SetNetnsMode(const Member&, const Value& expected) {
  return {ToRemedy({.command = Format("rdma system set netns {}", ShowNetnsMode(expected)),
                    .note = "Fails while containers have their own network namespaces. Lost at "
                            "the next boot; to make it permanent, set 'options ib_core "
                            "netns_mode=1' (1: shared, 0: exclusive) in /etc/modprobe.d."})};
}

constexpr EqualityRule kNetnsMode[] = {{.what = "RDMA network namespace mode",
                                        .of_nodes = true,
                                        .group = ByProduct,
                                        .value = NetnsMode,
                                        .show = ShowNetnsMode,
                                        .source = Constant<kNetnsModeFile>,
                                        .remedies = SetNetnsMode}};

// hugepages_equal

// Sum of all page sizes of the node.
std::optional<Value> ReservedHugePages(const Member& member) {
  if (member.node->ports.empty()) return {};
  std::uint64_t bytes = 0;
  bool known = false;
  for (const v1::HugePages& pages : member.snapshot().host().hugepages()) {
    if (pages.has_numa_node() || !pages.has_total()) continue;
    bytes += pages.page_bytes() * pages.total();
    known = true;
  }
  return known ? std::optional(Value{bytes}) : std::nullopt;
}

std::string ShowHugePages(const Value& value) {
  return value.number == 0 ? "none" : Format("{} MiB", value.number >> 20);
}

std::vector<v1::Remedy> ReserveHugePages(const Member&, const Value& expected) {
  return {SetSysctl(Format("vm.nr_hugepages={}", expected.number >> 21),
                    "The number is for pages of 2 MiB. A node that has run for a long time may "
                    "need a reboot to have enough contiguous memory.")};
}

constexpr EqualityRule kHugePages[] = {{.what = "reserved huge pages",
                                        .of_nodes = true,
                                        .group = ByProduct,
                                        .value = ReservedHugePages,
                                        .show = ShowHugePages,
                                        .source = Constant<kHugePagesFile>,
                                        .remedies = ReserveHugePages}};

}  // namespace

extern const Rule kernel_release_equal = {
    .id = "kernel_release_equal",
    .title = "Nodes of one product run the same kernel",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "Drivers, defaults and counters change with the kernel. A node with another kernel "
        "behaves differently under load, and its findings cannot be compared. Usual causes: an "
        "update that skipped the node, or a missing reboot.",
    .source = "Documentation/ABI/stable/syscalls; uname(2)",
    .needs = {Input::kHostIdentity, Input::kHostFacts},
    .profile = {v1::Expectations::kKernelReleaseFieldNumber},
    .fix = "install the same kernel and reboot",
    .equality_rules = kRelease,
};

extern const Rule rdma_stack_equal = {
    .id = "rdma_stack_equal",
    .title = "Nodes of one product have the same RDMA stack: OFED or that of the kernel",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "If a kernel update did not rebuild OFED's modules, the modules of the kernel are loaded. "
        "RDMA works, but without peer memory, and with other defaults and settings in sysfs.",
    .source = "kernel Documentation/admin-guide/tainted-kernels.rst (out-of-tree modules)",
    .needs = {Input::kRdmaStack},
    .profile = {v1::Expectations::kRdmaStackVersionFieldNumber},
    .fix = "install OFED for the running kernel",
    .equality_rules = kStack,
};

extern const Rule rdma_netns_mode_equal = {
    .id = "rdma_netns_mode_equal",
    .title = "Nodes of one product have the same RDMA network namespace mode",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "In exclusive mode, a container sees only devices that were moved into it; in shared "
        "mode, all devices. The same job finds devices on one node and none on another.",
    .source = "man 8 rdma-system; kernel drivers/infiniband/core/device.c (netns_mode)",
    .needs = {Input::kRdmaDevices},
    .fix = "rdma system set netns shared|exclusive",
    .equality_rules = kNetnsMode,
};

extern const Rule hugepages_equal = {
    .id = "hugepages_equal",
    .title = "Nodes of one product reserve the same amount of huge pages",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_NODE,
    .why =
        "Jobs that need huge pages (UCX, NVSHMEM, storage) use small pages or fail to start on a "
        "node with fewer. A node with more has less memory for other uses.",
    .source = "kernel Documentation/admin-guide/mm/hugetlbpage.rst",
    .needs = {Input::kHostFacts},
    .fix = "sysctl -w vm.nr_hugepages=COUNT",
    .equality_rules = kHugePages,
};

}  // namespace fabric::rules
