#include "agents/doctor/doctor.h"

#include <linux/capability.h>

#include <cerrno>
#include <cstring>

#include "agents/host/pci_config.h"
#include "base/text.h"

namespace fabric::doctor {
namespace {

// Commands that install drop-ins of the agent's unit.
constexpr char kUmadDropIn[] =
    "install -D -m 0644 /usr/share/fabricd/systemd/fabric-agent-umad.conf "
    "/etc/systemd/system/fabric-agent.service.d/umad.conf";
constexpr char kNvidiaDropIn[] =
    "install -D -m 0644 /usr/share/fabricd/systemd/fabric-agent-nvidia.conf "
    "/etc/systemd/system/fabric-agent.service.d/nvidia.conf";
constexpr char kAmdDropIn[] =
    "install -D -m 0644 /usr/share/fabricd/systemd/fabric-agent-amd.conf "
    "/etc/systemd/system/fabric-agent.service.d/amd.conf";
constexpr char kClockDropIn[] =
    "install -D -m 0644 /usr/share/fabricd/systemd/fabric-agent-clock.conf "
    "/etc/systemd/system/fabric-agent.service.d/clock.conf";
constexpr char kPodsDropIn[] =
    "install -D -m 0644 /usr/share/fabricd/systemd/fabric-agent-pods.conf "
    "/etc/systemd/system/fabric-agent.service.d/pods.conf";

constexpr Grant kVerbsPolicy = {
    "device policy: uverbs", "DeviceAllow=char-infiniband_verbs rw",
    "a device plugin's resource (rdma/hca: 1), or securityContext.privileged: true"};
constexpr Grant kUmadPolicy = {"device policy: umad", kUmadDropIn,
                               "a device plugin's resource, or securityContext.privileged: true"};
constexpr Grant kDeviceMode = {"mode of the device file", "SupplementaryGroups=rdma",
                               "securityContext.supplementalGroups: [GID of the group rdma]"};
constexpr Grant kUmadMode = {
    "mode of the device file",
    "install -m 0644 /usr/share/fabricd/systemd/70-fabric-umad.rules /etc/udev/rules.d/",
    "securityContext.supplementalGroups: [GID of the group rdma], and this udev rule on the node"};
constexpr Grant kDeviceMissing = {"the device file", "PrivateDevices=no",
                                  "a hostPath volume of /dev/infiniband"};
constexpr Grant kNvidia = {"device policy: NVIDIA GPUs", kNvidiaDropIn,
                           "runtimeClassName: nvidia and NVIDIA_VISIBLE_DEVICES=all (chart: "
                           "agent.runtimeClassName, agent.extraEnv)"};
constexpr Grant kAmd = {"device policy: AMD GPUs", kAmdDropIn,
                        "a resource amd.com/gpu, or securityContext.privileged: true"};
constexpr Grant kNetlink = {"netlink sockets", "RestrictAddressFamilies=AF_NETLINK",
                            "a seccompProfile that allows AF_NETLINK"};
constexpr Grant kSockets = {"Internet sockets", "RestrictAddressFamilies=AF_INET AF_INET6",
                            "a seccompProfile that allows AF_INET"};
constexpr Grant kNetAdmin = {
    "CAP_NET_ADMIN", "CapabilityBoundingSet=CAP_NET_ADMIN and AmbientCapabilities=CAP_NET_ADMIN",
    "securityContext.capabilities.add: [NET_ADMIN]", CAP_NET_ADMIN};
constexpr Grant kSysAdmin = {
    "CAP_SYS_ADMIN", "CapabilityBoundingSet=CAP_SYS_ADMIN and AmbientCapabilities=CAP_SYS_ADMIN",
    "securityContext.capabilities.add: [SYS_ADMIN]", CAP_SYS_ADMIN};
constexpr Grant kSyslog = {
    "CAP_SYSLOG",
    "CapabilityBoundingSet=CAP_SYSLOG, AmbientCapabilities=CAP_SYSLOG, ProtectKernelLogs=no and "
    "DeviceAllow=/dev/kmsg r",
    "securityContext.capabilities.add: [SYSLOG]"};
constexpr Grant kNetRaw = {"CAP_NET_RAW",
                           "CapabilityBoundingSet=CAP_NET_RAW, AmbientCapabilities=CAP_NET_RAW and "
                           "RestrictAddressFamilies=AF_PACKET",
                           "securityContext.capabilities.add: [NET_RAW]"};
constexpr Grant kMemlock = {"locked memory", "LimitMEMLOCK=infinity",
                            "securityContext.capabilities.add: [IPC_LOCK]"};
constexpr Grant kPtrace = {
    "CAP_SYS_PTRACE", "CapabilityBoundingSet=CAP_SYS_PTRACE and AmbientCapabilities=CAP_SYS_PTRACE",
    "securityContext.capabilities.add: [SYS_PTRACE]", CAP_SYS_PTRACE};
constexpr Grant kHostPid = {"the PID namespace of the host", "run the agent outside a container",
                            "hostPID: true (chart: agent.hostPID)"};
constexpr Grant kReadSearch = {
    "CAP_DAC_READ_SEARCH",
    "CapabilityBoundingSet=CAP_DAC_READ_SEARCH and AmbientCapabilities=CAP_DAC_READ_SEARCH",
    "securityContext.capabilities.add: [DAC_READ_SEARCH]", CAP_DAC_READ_SEARCH};
constexpr Grant kDebugfs = {"debugfs", "sys-kernel-debug.mount of the machine",
                            "a hostPath volume of /sys/kernel/debug (chart: agent.debugfs)"};
constexpr Grant kClock = {"adjtimex(2)", kClockDropIn, "a seccompProfile that allows adjtimex"};

constexpr Grant kPodSocket = {"CAP_DAC_OVERRIDE, for the socket", kPodsDropIn,
                              "securityContext.runAsUser: 0", CAP_DAC_OVERRIDE};
constexpr Grant kKubeletFile = {"the socket of the kubelet",
                                "kubelet-pod-resources: PATH of the socket in agent.yaml",
                                "a hostPath volume of its folder (chart: agent.pods.kubelet)"};
constexpr Grant kRuntimeFile = {"the socket of the container runtime",
                                "cri-socket: PATH of the socket in agent.yaml",
                                "a hostPath volume of the socket (chart: agent.pods.runtime)"};

// The part of the machine that the features concern.
struct Machine {
  const host::Host& host;
  const host::Privileges& privileges;
  std::vector<std::string> devices;  // RDMA devices
  std::vector<std::string> netdevs;  // Of the RDMA devices
};

std::vector<std::string> NamesIn(const host::Dir& root, const std::string& folder) {
  const auto dir = root.Sub(folder);
  if (!dir.ok()) return {};
  const auto names = dir->Names();
  return names.ok() ? *names : std::vector<std::string>();
}

std::vector<std::string> NetdevsOf(const host::Dir& root, const std::string& device) {
  const std::string folder = "sys/class/infiniband/" + device;
  if (auto names = NamesIn(root, folder + "/device/net"); !names.empty()) return names;
  const auto name = root.Text(folder + "/ports/1/gid_attrs/ndevs/0");
  return name.ok() ? std::vector{*name} : std::vector<std::string>();
}

Feature NotNeeded(std::string reason) {
  return {.name = {}, .use = {}, .state = State::kNotNeeded, .reason = std::move(reason)};
}

Feature Works() {
  return {.name = {}, .use = {}, .state = State::kWorks, .reason = {}};
}

Feature Missing(const Grant& grant, std::string reason) {
  return {.name = {},
          .use = {},
          .state = State::kMissing,
          .reason = std::move(reason),
          .grant = &grant};
}

// PERMISSION_DENIED is a missing permission; UNIMPLEMENTED and NOT_FOUND mean that the machine does
// not have it.
Feature Judge(const Status& status, const Grant& grant) {
  switch (status.code()) {
    case Code::kOk: return Works();
    case Code::kPermissionDenied: return Missing(grant, status.message());
    case Code::kUnimplemented:
    case Code::kNotFound: return NotNeeded(status.message());
    default: break;
  }
  return {.name = {}, .use = {}, .state = State::kFails, .reason = status.message()};
}

struct DeviceGrants {
  const Grant& policy;
  const Grant& mode;
  const char* none;  // Reason when the machine has none
};

Feature JudgeFiles(const std::vector<host::DeviceFile>& files, const DeviceGrants& grants) {
  if (files.empty()) return NotNeeded(grants.none);
  for (const host::DeviceFile& file : files) {
    const std::string reason = Format("{}: {}", file.path, std::strerror(file.error));
    switch (file.error) {
      case 0: continue;
      case EPERM: return Missing(grants.policy, reason);
      case EACCES: return Missing(grants.mode, reason);
      case ENOENT: return Missing(kDeviceMissing, reason);
      default: return {.name = {}, .use = {}, .state = State::kFails, .reason = reason};
    }
  }
  return Works();
}

constexpr char kNoDevice[] = "no RDMA device";
constexpr char kNoNetdev[] = "no RDMA device has a netdev";

Feature Verbs(const Machine& machine) {
  return JudgeFiles(machine.privileges.uverbs, {kVerbsPolicy, kDeviceMode, kNoDevice});
}

Feature RdmaSettings(const Machine& machine) {
  return Judge(machine.host.rdma.Devices().status(), kNetlink);
}

Feature Dcb(const Machine& machine) {
  if (machine.netdevs.empty()) return NotNeeded(kNoNetdev);
  return Judge(machine.host.dcb.Ieee(machine.netdevs[0]).status(), kNetlink);
}

Feature EthtoolSettings(const Machine& machine) {
  if (machine.netdevs.empty()) return NotNeeded(kNoNetdev);
  return Judge(machine.host.ethtool.Driver(machine.netdevs[0]).status(), kSockets);
}

Feature Modules(const Machine& machine) {
  if (machine.netdevs.empty()) return NotNeeded(kNoNetdev);
  const Status status =
      machine.host.ethtool.ModuleEeprom(machine.netdevs[0], {.length = 1}).status();
  const Feature feature = Judge(status, kNetAdmin);
  // The kernel checks the permission first: every other failure is the port's or the driver's.
  return feature.state == State::kFails ? NotNeeded(feature.reason) : feature;
}

Feature PciRegisters(const Machine& machine) {
  for (const std::string& device : machine.devices) {
    const auto function = machine.host.root.Sub("sys/class/infiniband/" + device + "/device");
    if (!function.ok() || !function->Has("config")) continue;
    const auto config = host::ReadPciConfig(*function);
    if (!config.ok()) return Judge(config.status(), kSysAdmin);
    if (config->capabilities_known) return Works();
    return Missing(kSysAdmin, Format("{}: only the first 64 bytes are readable", device));
  }
  return NotNeeded("no RDMA device on PCI");
}

Feature KernelMessages(const Machine& machine) {
  return Judge(machine.host.kernel_log.Read().status(), kSyslog);
}

Feature SwitchNeighbors(const Machine& machine) {
  if (machine.netdevs.empty()) return NotNeeded(kNoNetdev);
  return Judge(machine.host.lldp.Neighbors(machine.netdevs).status(), kNetRaw);
}

Feature GpuMemory(const Machine& machine) {
  const auto& files = machine.privileges.gpu;
  const bool amd = !files.empty() && files.back().path.find("nvidia") == std::string::npos;
  const Grant& grant = amd ? kAmd : kNvidia;
  return JudgeFiles(files, {grant, grant, "no GPU driver is loaded"});
}

Feature Umad(const Machine& machine) {
  return JudgeFiles(machine.privileges.umad,
                    {kUmadPolicy, kUmadMode, "no InfiniBand management device"});
}

Feature LockedMemory(const Machine& machine) {
  if (machine.privileges.uverbs.empty()) return NotNeeded(kNoDevice);
  if (!machine.privileges.memlock_bytes || host::HasCapability(machine.privileges, CAP_IPC_LOCK))
    return Works();
  return Missing(kMemlock, Format("limit of locked memory is {} kB",
                                  *machine.privileges.memlock_bytes / 1024));
}

Feature JobEnvironment(const Machine& machine) {
  if (!machine.privileges.sees_host_processes)
    return Missing(kHostPid, "the processes of the host are not visible");
  return Judge(machine.privileges.environment, kPtrace);
}

Feature DriverDebugFiles(const Machine& machine) {
  for (const std::string& device : machine.devices) {
    const auto driver =
        machine.host.root.LinkName("sys/class/infiniband/" + device + "/device/driver");
    if (!driver.ok() || (*driver != "mlx5_core" && *driver != "bnxt_en")) continue;
    const Status& debugfs = machine.privileges.debugfs;
    if (debugfs.code() == Code::kNotFound) return Missing(kDebugfs, debugfs.message());
    return Judge(debugfs, kReadSearch);
  }
  return NotNeeded("no device of mlx5 or bnxt_re");
}

Feature Clock(const Machine& machine) {
  return Judge(machine.host.platform.Clock().status(), kClock);
}

Feature JudgeSocket(const Status& status, const Grant& file) {
  if (status.code() == Code::kNotFound) return Missing(file, status.message());
  const Feature feature = Judge(status, kPodSocket);
  if (feature.state != State::kNotNeeded) return feature;
  return {.name = {}, .use = {}, .state = State::kFails, .reason = feature.reason};
}

Feature DevicesOfPods(const Machine& machine) {
  const host::Pods* const pods = machine.host.pods;
  if (pods == nullptr || pods->sockets().kubelet.empty())
    return NotNeeded("not checked: kubelet-pod-resources is not set");
  return JudgeSocket(pods->OfKubelet().status(), kKubeletFile);
}

Feature NamesOfPods(const Machine& machine) {
  const host::Pods* const pods = machine.host.pods;
  if (pods == nullptr || pods->sockets().runtime.empty())
    return NotNeeded("not checked: cri-socket is not set");
  return JudgeSocket(pods->OfRuntime().status(), kRuntimeFile);
}

struct Row {
  std::string_view name;
  std::string_view use;
  Feature (*examine)(const Machine&);
};

constexpr Row kRows[] = {
    {"verbs", "probes, MTU of ports, GID tables", Verbs},
    {"RDMA netlink", "devices, links and their processes", RdmaSettings},
    {"DCB", "PFC, ETS and trust of RoCE ports", Dcb},
    {"ethtool", "driver, speed, pause, FEC", EthtoolSettings},
    {"modules", "identity, temperature and power of transceivers", Modules},
    {"PCI registers", "ACS, ATS, payload and read request sizes", PciRegisters},
    {"kernel log", "link, PCIe and GPU errors", KernelMessages},
    {"LLDP", "switch and port of each link", SwitchNeighbors},
    {"GPU memory", "probes of GPUDirect", GpuMemory},
    {"umad", "queries of the InfiniBand subnet", Umad},
    {"locked memory", "memory of probes", LockedMemory},
    {"job environment", "NCCL and UCX variables of running jobs", JobEnvironment},
    {"debugfs", "DCQCN of mlx5, ECN of bnxt_re", DriverDebugFiles},
    {"clock", "clock synchronization", Clock},
    {"kubelet", "devices of pods", DevicesOfPods},
    {"container runtime", "names of pods", NamesOfPods},
};

}  // namespace

std::vector<Feature> Examine(const host::Host& host, const host::Privileges& privileges) {
  Machine machine{.host = host,
                  .privileges = privileges,
                  .devices = NamesIn(host.root, "sys/class/infiniband"),
                  .netdevs = {}};
  for (const std::string& device : machine.devices)
    for (std::string& netdev : NetdevsOf(host.root, device))
      machine.netdevs.push_back(std::move(netdev));
  std::vector<Feature> features;
  for (const Row& row : kRows) {
    Feature feature = row.examine(machine);
    feature.name = row.name;
    feature.use = row.use;
    if (feature.grant != nullptr && feature.grant->capability >= 0 &&
        host::HasCapability(privileges, feature.grant->capability)) {
      feature.state = State::kFails;
      feature.reason += Format(", although the process has {}", feature.grant->permission);
      feature.grant = nullptr;
    }
    features.push_back(std::move(feature));
  }
  return features;
}

int ExitStatus(const std::vector<Feature>& features) {
  for (const Feature& feature : features)
    if (feature.state == State::kMissing || feature.state == State::kFails) return 1;
  return 0;
}

}  // namespace fabric::doctor
