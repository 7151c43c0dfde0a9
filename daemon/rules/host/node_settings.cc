#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/pcie/pci.h"
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
  if (!IsRdmaNode(*member.node) || release.empty()) return {};
  return Value{.text = release};
}

std::optional<Value> ExpectedRelease(const v1::Expectations& expected) {
  if (!expected.has_kernel_release()) return {};
  return Value{.text = expected.kernel_release()};
}

std::vector<v1::Remedy> InstallKernel(const Member&, const Value& expected) {
  return {Query({.command = "uname -r; ls /boot",
                 .note = Format("Expected {}. Drain the node, install the kernel or the image of "
                                "the other nodes, and reboot. If it is installed, reboot, or "
                                "check for a pinned boot entry.",
                                expected.text)})};
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
  if (!IsRdmaNode(*member.node) || !host.has_rdma_stack()) return {};
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

// The driver of the first fabric port.
std::string_view FirstDriver(const Member& member) {
  for (const fleet::PortView& port : member.node->ports)
    if (port.rail && !port.device->driver().empty()) return DriverOf(port);
  return "ib_core";
}

std::vector<v1::Remedy> InstallStack(const Member& member, const Value& expected) {
  return {Query({.command = Format("modinfo -F filename {}; dkms status", FirstDriver(member)),
                 .note = Format("Expected {}. Shows whether the module is that of the kernel or "
                                "out of tree. Drain the node, install the stack of the other "
                                "nodes for the running kernel, and reboot. After a kernel update "
                                "its modules have to be built again (dkms).",
                                ShowStack(expected))})};
}

constexpr EqualityRule kStack[] = {{.what = "RDMA stack",
                                    .of_nodes = true,
                                    .group = ByProduct,
                                    .value = RdmaStack,
                                    .expected = ExpectedStack,
                                    .show = ShowStack,
                                    .source = Constant<kModulesFile>,
                                    .remedies = InstallStack}};

// rdma_netns_mode_equal

std::optional<Value> NetnsMode(const Member& member) {
  const v1::HostFacts& host = member.snapshot().host();
  if (member.node->ports.empty() || !host.has_rdma_netns_mode()) return {};
  return Value{static_cast<std::uint64_t>(host.rdma_netns_mode())};
}

std::string ShowNetnsMode(const Value& value) {
  return value.number == v1::RDMA_NETNS_MODE_EXCLUSIVE ? "exclusive" : "shared";
}

std::vector<v1::Remedy> SetNetnsMode(const Member& member, const Value& expected) {
  const Value seen = NetnsMode(member).value_or(Value());
  return {Change({.command = Format("rdma system set netns {}", ShowNetnsMode(expected)),
                  .affects = v1::REMEDY_REACH_NODE,
                  .interrupts = kInterruptsNothing,
                  .lasts = UntilReboot(Format("write 'options ib_core netns_mode={}' to a file in "
                                              "/etc/modprobe.d",
                                              ShowNetnsMode(expected) == "shared" ? 1 : 0)),
                  .undo = Format("rdma system set netns {}", ShowNetnsMode(seen)),
                  .note = "Fails while containers have their own network namespaces. 'exclusive' "
                          "takes the devices away from containers that do not own them; 'shared' "
                          "shows all devices to all containers."})};
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

std::vector<v1::Remedy> ReserveHugePages(const Member& member, const Value& expected) {
  // Of several sizes it is not known which one differs.
  std::uint64_t page_bytes = 0;
  for (const v1::HugePages& pages : member.snapshot().host().hugepages()) {
    if (pages.has_numa_node() || pages.page_bytes() == 0) continue;
    if (page_bytes != 0 && pages.total() > 0) page_bytes = ~std::uint64_t{0};
    if (page_bytes == 0 && pages.total() > 0) page_bytes = pages.page_bytes();
  }
  constexpr std::string_view kNote =
      "A node that has run for a long time may need a reboot to have enough contiguous memory.";
  const std::uint64_t seen = ReservedHugePages(member).value_or(Value()).number;
  if (page_bytes == 0) page_bytes = std::uint64_t{2} << 20;
  if (page_bytes == ~std::uint64_t{0})
    return {Query({.command = "grep . /sys/kernel/mm/hugepages/*/nr_hugepages",
                   .note = Format("Expected {} in all. {}", ShowHugePages(expected), kNote)})};
  const auto command = [&](std::uint64_t bytes) {
    return Format("echo {} > /sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages",
                  bytes / page_bytes, page_bytes >> 10);
  };
  return {Change({.command = command(expected.number),
                  .affects = v1::REMEDY_REACH_NODE,
                  .interrupts = kInterruptsNothing,
                  .lasts = UntilReboot("set vm.nr_hugepages in /etc/sysctl.d, or hugepages= on the "
                                       "kernel command line"),
                  .undo = command(seen),
                  .note = std::string(kNote)})};
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
    .reads = {{.field = Field::kKernelRelease,
               .profile = v1::Expectations::kKernelReleaseFieldNumber},
              {.field = Field::kKernelRelease}},
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
    .reads = {{.field = Field::kRdmaStack,
               .profile = v1::Expectations::kRdmaStackVersionFieldNumber},
              {.field = Field::kRdmaStack}},
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
    .reads = {{.field = Field::kNetnsMode}},
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
    .reads = {{.field = Field::kHugePages}},
    .fix = "sysctl -w vm.nr_hugepages=COUNT",
    .equality_rules = kHugePages,
};

}  // namespace fabric::rules
