// The fields of nodes; fields.cc has those of ports.
#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/fields.h"
#include "daemon/rules/pcie/pci.h"

namespace fabric::rules {
namespace {

constexpr char kAdjtimexFile[] = "adjtimex";
constexpr char kBiosFile[] = "sys/class/dmi/id/bios_version";
constexpr char kCommandLineFile[] = "proc/cmdline";
constexpr char kEnvironFile[] = "proc/PID/environ";
constexpr char kFrequencyDirectory[] = "sys/devices/system/cpu/cpufreq";
constexpr char kGpuDriverFile[] = "proc/driver/nvidia/version";
constexpr char kGroupsFile[] = "sys/kernel/iommu_groups";
constexpr char kHugePagesDirectory[] = "sys/kernel/mm/hugepages";
constexpr char kIdleDirectory[] = "sys/devices/system/cpu/cpu0/cpuidle";
constexpr char kJobSource[] = "job";
constexpr char kKernelLogFile[] = "dev/kmsg";
constexpr char kLibraryDirectory[] = "usr/lib";
constexpr char kLimitsFile[] = "etc/security/limits.conf";
constexpr char kMachineIdFile[] = "etc/machine-id";
constexpr char kModuleList[] = "proc/modules";
constexpr char kNetnsFile[] = "sys/module/ib_core/parameters/netns_mode";
constexpr char kNumaFile[] = "sys/devices/system/node";
constexpr char kNvmlLibrary[] = "NVML";
constexpr char kPciDirectory[] = "sys/bus/pci/devices";
constexpr char kPeersFile[] = "sys/kernel/mm/memory_peers";
constexpr char kProductFile[] = "sys/class/dmi/id";
constexpr char kRdmaSystem[] = "netlink rdma system";
constexpr char kReleasePath[] = "proc/sys/kernel/osrelease";
constexpr char kRoutesSource[] = "netlink routes";
constexpr char kSysctlDirectory[] = "proc/sys";
constexpr char kUverbsDirectory[] = "sys/class/infiniband_verbs";

template <const char* kFile>
std::string FromNode(const Member&) {
  return kFile;
}
std::string AcsSource(const Member& m) {
  for (const v1::PciFunction& function : m.snapshot().pci_functions())
    if (IsBridge(function) && !function.has_acs() && !function.has_ats_capable())
      return PciFile(function.address(), "config");
  return Format("{}/bridges/config", kPciDirectory);
}

template <bool (v1::HostFacts::*kHas)() const>
bool HostHas(const Member& m) {
  return (m.snapshot().host().*kHas)();
}

bool HasNvlinks(const Member& m) {
  const auto& gpus = m.snapshot().gpus();
  return std::any_of(gpus.begin(), gpus.end(),
                     [](const v1::Gpu& gpu) { return gpu.has_nvlinks_active(); });
}
std::string FirstGpu(const Member& m) {
  for (const v1::Gpu& gpu : m.snapshot().gpus())
    if (!gpu.has_bar1_bytes()) return gpu.pci_address();
  return "*";
}
bool HasIommuType(const Member& m) {
  const auto& functions = m.snapshot().pci_functions();
  return std::any_of(functions.begin(), functions.end(),
                     [](const v1::PciFunction& function) { return function.has_iommu_type(); });
}
// A GPU that the host uses, or a bridge below a root port, whose link was not read.
const v1::PciFunction* FirstWithoutLink(const v1::NodeSnapshot& snapshot) {
  const auto is_judged = [&](const v1::PciFunction& function) {
    if (IsBridge(function)) return !function.path().empty();
    return std::any_of(snapshot.gpus().begin(), snapshot.gpus().end(), [&](const v1::Gpu& gpu) {
      return gpu.pci_address() == function.address() && IsInUse(gpu);
    });
  };
  for (const v1::PciFunction& function : snapshot.pci_functions())
    if ((function.link().width() == 0 || function.link_max().width() == 0) && is_judged(function))
      return &function;
  return nullptr;
}
bool HasDistances(const Member& m) {
  const auto& paths = m.snapshot().gpu_nic_paths();
  return !paths.empty() && std::all_of(paths.begin(), paths.end(), [](const auto& path) {
    return path.distance() != v1::PCI_DISTANCE_UNSPECIFIED;
  });
}
std::string LinkOfFirst(const Member& m) {
  const v1::PciFunction* const function = FirstWithoutLink(m.snapshot());
  return PciFile(function == nullptr ? "*" : function->address(), "current_link_width");
}
bool HasGpuWindow(const Member& m) {
  const auto& gpus = m.snapshot().gpus();
  return std::all_of(gpus.begin(), gpus.end(),
                     [](const v1::Gpu& gpu) { return gpu.has_bar1_bytes() || !IsInUse(gpu); });
}
bool HasMemlock(const Member& m) {
  const v1::HostFacts& host = m.snapshot().host();
  return host.has_default_user_memlock() || host.has_default_service_memlock() ||
         m.snapshot().job().has_memlock();
}
bool HasJobEnvironment(const Member& m) {
  const auto& processes = m.snapshot().rdma_processes();
  return (!m.snapshot().has_job() || m.snapshot().job().environment_known()) &&
         std::all_of(processes.begin(), processes.end(),
                     [](const v1::RdmaProcess& process) { return process.environment_known(); });
}
bool HasUverbs(const Member& m) {
  const auto& devices = m.snapshot().rdma_devices();
  return std::any_of(devices.begin(), devices.end(), [](const v1::RdmaDevice& device) {
    return !device.character_devices().empty();
  });
}
bool HasStack(const Member& m) {
  return m.expectation().values.has_rdma_stack_version()
             ? m.snapshot().host().has_rdma_stack_version() ||
                   m.snapshot().host().rdma_stack() == v1::RDMA_STACK_INBOX
             : m.snapshot().host().has_rdma_stack();
}

// In the order of Field, from the first one of a node.
constexpr FieldInfo kNodeInfos[] = {
    {"ACS registers of the bridges between GPU and NIC", Input::kPciFunctions, Absence::kUnknown,
     [](const Member& m) { return !HasUnreadRedirects(*m.node); }, AcsSource},
    {"BIOS version", Input::kHostFacts, Absence::kOptional,
     HostHas<&v1::HostFacts::has_bios_version>, FromNode<kBiosFile>},
    {"clock", Input::kTimeSync, Absence::kGapOrSilent,
     [](const Member& m) { return m.snapshot().time_sync().has_synchronized(); },
     FromNode<kAdjtimexFile>},
    {"offset of the clock", Input::kTimeSync, Absence::kOptional,
     [](const Member& m) { return m.snapshot().time_sync().has_offset_seconds(); },
     FromNode<kAdjtimexFile>},
    {"kernel command line", Input::kHostFacts, Absence::kGapOrSilent,
     HostHas<&v1::HostFacts::has_kernel_command_line>, FromNode<kCommandLineFile>},
    {"copy on fork", Input::kHostFacts, Absence::kOptional,
     HostHas<&v1::HostFacts::has_copy_on_fork>, FromNode<kRdmaSystem>},
    {"CPU frequency governor", Input::kCpuPower, Absence::kOptional,
     [](const Member& m) { return !m.snapshot().host().cpu_power().governors().empty(); },
     FromNode<kFrequencyDirectory>},
    {"version of the GPU driver", Input::kPeerMemory, Absence::kOptional,
     [](const Member& m) { return m.snapshot().peer_memory().gpu_driver().has_version(); },
     FromNode<kGpuDriverFile>},
    {"distances of GPUs and NICs", Input::kGpuNicPaths, Absence::kOptional, HasDistances,
     FromNode<kPciDirectory>},
    {"memory window of a GPU", Input::kGpus, Absence::kOptional, HasGpuWindow,
     [](const Member& m) { return PciFile(FirstGpu(m), "resource"); }},
    {"GPUs", Input::kGpus, Absence::kOptional,
     [](const Member& m) { return !m.snapshot().gpus().empty(); }, FromNode<kPciDirectory>},
    {"huge pages", Input::kHostFacts, Absence::kOptional,
     [](const Member& m) { return !m.snapshot().host().hugepages().empty(); },
     FromNode<kHugePagesDirectory>},
    {"idle states of the CPUs", Input::kCpuPower, Absence::kOptional,
     [](const Member& m) { return m.snapshot().host().cpu_power().has_idle_latency_us(); },
     FromNode<kIdleDirectory>},
    {"IOMMU type", Input::kPciFunctions, Absence::kOptional, HasIommuType, FromNode<kGroupsFile>},
    {"view of the job", Input::kJobView, Absence::kOptional,
     [](const Member& m) { return m.snapshot().has_job(); }, FromNode<kJobSource>},
    {"environment of the jobs", Input::kRdmaProcesses, Absence::kOptional, HasJobEnvironment,
     FromNode<kEnvironFile>},
    {"locked memory of the job", Input::kJobView, Absence::kUnknown,
     [](const Member& m) { return m.snapshot().job().has_memlock(); },
     [](const Member& m) { return Format("proc/{}/limits", m.snapshot().job().pid()); }},
    {"kernel log", Input::kKernelLog, Absence::kOptional,
     [](const Member& m) { return !m.snapshot().kernel_log().empty(); }, FromNode<kKernelLogFile>},
    {"kernel release", Input::kHostIdentity, Absence::kGapOrSilent,
     [](const Member& m) { return !m.snapshot().node().kernel_release().empty(); },
     FromNode<kReleasePath>},
    {"machine id", Input::kHostIdentity, Absence::kGapOrSilent,
     [](const Member& m) { return !m.snapshot().node().machine_id().empty(); },
     FromNode<kMachineIdFile>},
    {"limit of locked memory", Input::kHostLimits, Absence::kOptional, HasMemlock,
     FromNode<kLimitsFile>},
    {"kernel modules", Input::kRdmaStack, Absence::kGapOrSilent,
     [](const Member& m) { return !m.snapshot().host().modules().empty(); }, FromNode<kModuleList>},
    {"RDMA network namespace mode", Input::kRdmaDevices, Absence::kOptional,
     HostHas<&v1::HostFacts::has_rdma_netns_mode>, FromNode<kNetnsFile>},
    {"number of NUMA nodes", Input::kHostFacts, Absence::kOptional,
     HostHas<&v1::HostFacts::has_numa_nodes>, FromNode<kNumaFile>},
    {"NVLinks", Input::kNvlinks, Absence::kOptional, HasNvlinks, FromNode<kNvmlLibrary>},
    {"PCIe links of GPUs and switches", Input::kPciFunctions, Absence::kOptional,
     [](const Member& m) { return FirstWithoutLink(m.snapshot()) == nullptr; }, LinkOfFirst},
    {"registration of peer memory", Input::kPeerMemory, Absence::kOptional,
     [](const Member& m) { return m.snapshot().peer_memory().has_bound_to_ib_core(); },
     FromNode<kPeersFile>},
    {"peer memory modules", Input::kPeerMemory, Absence::kGapOrSilent,
     [](const Member& m) { return m.snapshot().peer_memory().has_nv_peer_mem_loaded(); },
     FromNode<kModuleList>},
    {"product of the machine", Input::kHostFacts, Absence::kOptional,
     HostHas<&v1::HostFacts::has_product>, FromNode<kProductFile>},
    {"version of rdma-core", Input::kRdmaStack, Absence::kOptional,
     HostHas<&v1::HostFacts::has_rdma_core_version>, FromNode<kLibraryDirectory>},
    {"RDMA stack", Input::kRdmaStack, Absence::kOptional, HasStack, FromNode<kModuleList>},
    {"routes", Input::kRouting, Absence::kOptional,
     [](const Member& m) { return m.snapshot().routing().routes_known(); },
     FromNode<kRoutesSource>},
    {"sysctls", Input::kHostLimits, Absence::kOptional,
     [](const Member& m) { return !m.snapshot().host().sysctls().empty(); },
     FromNode<kSysctlDirectory>},
    {"uverbs devices", Input::kCharacterDevices, Absence::kOptional, HasUverbs,
     FromNode<kUverbsDirectory>},
};
static_assert(std::size(kNodeInfos) == kFields - kPortFields);

}  // namespace

const FieldInfo& InfoOfNodeField(Field field) {
  return kNodeInfos[static_cast<std::size_t>(field) - kPortFields];
}

}  // namespace fabric::rules
