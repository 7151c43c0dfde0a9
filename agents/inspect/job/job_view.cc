#include "agents/inspect/job/job_view.h"

#include <algorithm>
#include <set>
#include <utility>

#include "agents/inspect/attributes.h"
#include "agents/inspect/job/job_settings.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kName = "job_view";
constexpr std::uint32_t kCapDacOverride = 1;  // linux/capability.h
constexpr std::uint32_t kReadWrite = 06;

// "Max locked memory" of /proc/<pid>/limits.
Result<v1::MemoryLimit> ReadMemlock(std::string_view limits) {
  constexpr std::string_view kKey = "Max locked memory";
  for (const std::string_view line : Split(limits, '\n')) {
    if (!line.starts_with(kKey)) continue;
    const std::vector<std::string_view> words = Words(line.substr(kKey.size()));
    if (words.size() < 2) break;
    v1::MemoryLimit limit;
    const auto soft = ParseNumber<std::uint64_t>(words[0]);
    const auto hard = ParseNumber<std::uint64_t>(words[1]);
    limit.set_unlimited(words[0] == "unlimited");
    if (!soft.ok() && !limit.unlimited()) break;
    if (soft.ok()) limit.set_soft_bytes(*soft);
    if (hard.ok()) limit.set_hard_bytes(*hard);
    return limit;
  }
  return Status(Code::kInvalidArgument, "expected a line \"Max locked memory\" with two limits");
}

// Where a controller's cgroup is in /proc/<pid>/cgroup; "" asks for version 2.
std::optional<std::string> PathOfController(std::string_view text, std::string_view controller) {
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> parts = Split(line, ':');
    if (parts.size() < 3) continue;
    const std::vector<std::string_view> controllers = Split(parts[1], ',');
    if (std::count(controllers.begin(), controllers.end(), controller) == 0) continue;
    const std::string_view path = line.substr(parts[0].size() + parts[1].size() + 2);
    // "/.." is above the cgroup namespace that we are in, where there is nothing to read.
    if (!path.starts_with('/') || path.find("/..") != std::string_view::npos) return std::nullopt;
    return std::string(Trim(path));
  }
  return std::nullopt;
}

std::string OnOneLine(std::string lines) {
  std::replace(lines.begin(), lines.end(), '\n', ';');
  return lines;
}

// Text of a file of the process; a gap when it cannot be read.
std::optional<std::string> Read(const Host& host, const JobTarget& target, const char* file,
                                v1::NodeSnapshot& snapshot) {
  const std::string path = Format("proc/{}/{}", *target.pid, file);
  Result<std::string> text = host.root.Text(path);
  if (text.ok()) return *std::move(text);
  AddGap(snapshot, kName, "", path, text.status());
  return std::nullopt;
}

// The file of the process's cgroup or of the nearest one above that has it.
std::optional<std::string> CgroupFile(const Host& host, const std::string& mount, std::string path,
                                      const std::string& file) {
  while (true) {
    while (path.ends_with('/')) path.pop_back();
    if (const auto text = host.root.Text(mount + path + "/" + file); text.ok())
      return OnOneLine(*text);
    if (path.empty()) return std::nullopt;
    path.resize(path.find_last_of('/'));
  }
}

// What else limits the process's devices: version 1 has a list, version 2 a program that only the
// kernel can read.
struct DeviceRules {
  std::optional<std::string> list;
  bool program = false;
};

void NamePod(const JobTarget& target, v1::JobView& job) {
  for (const host::Pod& pod : target.pods) {
    if (pod.uid != job.pod_uid()) continue;
    job.set_pod_namespace(pod.name_space);
    job.set_pod_name(pod.name);
  }
}

DeviceRules ReadCgroup(const Host& host, const std::string& text, v1::JobView& job) {
  const std::optional<std::string> unified = PathOfController(text, "");
  const std::optional<std::string> rdma = PathOfController(text, "rdma");
  const std::optional<std::string> devices = PathOfController(text, "devices");
  if (unified || devices || rdma) job.set_cgroup(devices ? *devices : rdma ? *rdma : *unified);
  if (const std::string uid = PodUid(text); !uid.empty()) job.set_pod_uid(uid);
  const auto limits = rdma      ? CgroupFile(host, "sys/fs/cgroup/rdma", *rdma, "rdma.max")
                      : unified ? CgroupFile(host, "sys/fs/cgroup", *unified, "rdma.max")
                                : std::nullopt;
  if (limits) job.set_rdma_cgroup_limits(*limits);
  DeviceRules rules;
  if (devices) rules.list = CgroupFile(host, "sys/fs/cgroup/devices", *devices, "devices.list");
  rules.program = !devices && unified && *unified != "/";
  return rules;
}

// The device files of verbs, "uverbs0", with the RDMA device that each is of.
std::vector<std::pair<std::string, std::string>> VerbsFiles(const Host& host) {
  std::vector<std::pair<std::string, std::string>> files;
  const Result<Dir> all = host.root.Sub("sys/class/infiniband_verbs");
  const Result<std::vector<std::string>> names = all.ok() ? all->Names() : all.status();
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>())
    if (const auto device = all->Text(name + "/ibdev"); device.ok())
      files.emplace_back(name, *device);
  return files;
}

v1::JobDevice LookAt(const Host& host, const std::string& below, const std::string& name,
                     const std::optional<Credentials>& who, const DeviceRules& rules) {
  v1::JobDevice device;
  device.set_path("/dev/infiniband/" + name);
  const Result<host::FileInfo> file = host.root.Info(below + "dev/infiniband/" + name);
  device.set_present(file.ok());
  const auto verdict = [&](bool accessible, const std::string& why) {
    device.set_accessible(accessible);
    device.set_reason(why);
    return device;
  };
  if (!file.ok() && file.status().code() == Code::kNotFound)
    return verdict(false, "not there: the container was not given it");
  if (!file.ok() || !who) {
    device.set_reason(file.ok() ? "the owner of the process is unknown" : file.status().message());
    return device;
  }
  const std::string mode =
      Format("mode {:04o}, owner {}:{}", file->mode & 07777U, file->uid, file->gid);
  if (!MayReadWrite(*who, *file))
    return verdict(false, Format("{}: closed to user {}", mode, who->uid));
  if (rules.list && !DeviceListed(*rules.list, file->device_major, file->device_minor))
    return verdict(false, Format("{}, but the device cgroup does not list {}:{}", mode,
                                 file->device_major, file->device_minor));
  if (!rules.program) return verdict(true, mode);
  device.set_reason(mode + ": accessible unless the cgroup's device program forbids it");
  return device;
}

bool HasNetdev(const v1::NodeSnapshot& snapshot, const std::string& name) {
  return std::any_of(snapshot.net_interfaces().begin(), snapshot.net_interfaces().end(),
                     [&](const v1::NetInterface& netdev) { return netdev.name() == name; });
}

// On Ethernet a GID works where its netdev is: those of netdevs elsewhere cannot be used, though
// some kernels show them.
bool HasGid(const v1::NodeSnapshot& snapshot, const v1::Port& port) {
  return std::any_of(port.gids().begin(), port.gids().end(), [&](const v1::Gid& gid) {
    if (port.link_layer() != v1::LINK_LAYER_ETHERNET) return true;
    const std::string& netdev = gid.has_netdev() ? gid.netdev() : port.netdev();
    return !netdev.empty() && HasNetdev(snapshot, netdev);
  });
}

void AddDevices(const Host& host, const JobTarget& target, const std::optional<Credentials>& who,
                const DeviceRules& rules, v1::NodeSnapshot& snapshot) {
  v1::JobView& job = *snapshot.mutable_job();
  const std::string below = target.pid ? Format("proc/{}/root/", *target.pid) : std::string();
  std::set<std::string> open;  // RDMA devices whose file is not known to be closed
  for (const auto& [name, device] : VerbsFiles(host)) {
    const v1::JobDevice& file = *job.add_character_devices() =
        LookAt(host, below, name, who, rules);
    if (file.present() && (!file.has_accessible() || file.accessible())) open.insert(device);
  }
  if (!snapshot.rdma_devices().empty())
    *job.add_character_devices() = LookAt(host, below, "rdma_cm", who, rules);
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    job.add_rdma_devices(device.name());
    const bool gid = std::any_of(device.ports().begin(), device.ports().end(),
                                 [&](const v1::Port& port) { return HasGid(snapshot, port); });
    if (gid && open.contains(device.name())) job.add_usable_rdma_devices(device.name());
  }
}

}  // namespace

void AddJobView(const Host& host, const JobTarget& target, v1::NodeSnapshot& snapshot) {
  v1::JobView& job = *snapshot.mutable_job();
  if (target.network_namespace) job.set_network_namespace(*target.network_namespace);
  if (target.own) job.set_own_network_namespace(*target.own);
  if (!target.pid) return AddDevices(host, target, Credentials{}, {}, snapshot);
  job.set_pid(*target.pid);
  if (const auto name = Read(host, target, "comm", snapshot)) job.set_process(*name);
  if (const auto text = Read(host, target, "limits", snapshot)) {
    const Result<v1::MemoryLimit> limit = ReadMemlock(*text);
    const std::string path = Format("proc/{}/limits", *target.pid);
    if (limit.ok()) {
      *job.mutable_memlock() = *limit;
      job.mutable_memlock()->set_source(path);
    } else {
      AddGap(snapshot, kName, "", path, limit.status());
    }
  }
  DeviceRules rules;
  if (const auto text = Read(host, target, "cgroup", snapshot))
    rules = ReadCgroup(host, *text, job);
  if (job.has_pod_uid()) NamePod(target, job);
  std::optional<Credentials> who;
  if (const auto text = Read(host, target, "status", snapshot)) {
    const Result<Credentials> parsed = ParseCredentials(*text);
    if (parsed.ok()) who = *parsed;
    if (!parsed.ok())
      AddGap(snapshot, kName, "", Format("proc/{}/status", *target.pid), parsed.status());
  }
  AddDevices(host, target, who, rules, snapshot);
  const JobSettings settings = ReadJobSettings(host, *target.pid);
  job.set_environment_known(settings.environment.ok());
  if (!settings.environment.ok())
    AddGap(snapshot, kName, "", Format("proc/{}/environ", *target.pid), settings.environment);
  for (const v1::JobVariable& variable : settings.variables) *job.add_variables() = variable;
  for (const v1::JobLibrary& library : settings.libraries) *job.add_libraries() = library;
}

Result<Credentials> ParseCredentials(std::string_view status) {
  constexpr std::size_t kEffective = 2;  // After the key and the real one
  Credentials who;
  bool uid = false, gid = false;
  for (const std::string_view line : Split(status, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() > kEffective && (words[0] == "Uid:" || words[0] == "Gid:")) {
      ASSIGN_OR_RETURN(const std::uint32_t id, ParseNumber<std::uint32_t>(words[kEffective]));
      (words[0] == "Uid:" ? who.uid : who.gid) = id;
      (words[0] == "Uid:" ? uid : gid) = true;
    } else if (!words.empty() && words[0] == "Groups:") {
      for (std::size_t i = 1; i < words.size(); ++i)
        if (const auto group = ParseNumber<std::uint32_t>(words[i]); group.ok())
          who.groups.push_back(*group);
    } else if (words.size() == 2 && words[0] == "CapEff:") {
      ASSIGN_OR_RETURN(who.capabilities, ParseNumber<std::uint64_t>(words[1], 16));
    }
  }
  if (uid && gid) return who;
  return Status(Code::kDataLoss, "expected lines Uid: and Gid:");
}

bool MayReadWrite(const Credentials& who, const host::FileInfo& file) {
  if ((who.capabilities >> kCapDacOverride & 1U) != 0) return true;
  const bool member =
      who.gid == file.gid || std::count(who.groups.begin(), who.groups.end(), file.gid) > 0;
  const std::uint32_t shift = who.uid == file.uid ? 6 : member ? 3 : 0;
  return (file.mode >> shift & kReadWrite) == kReadWrite;
}

bool DeviceListed(std::string_view list, std::uint32_t major, std::uint32_t minor) {
  std::string lines(list);
  std::replace(lines.begin(), lines.end(), ';', '\n');
  for (const std::string_view line : Split(lines, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() != 3 || (words[0] != "a" && words[0] != "c")) continue;
    const std::size_t colon = words[1].find(':');
    if (colon == std::string_view::npos) continue;
    const auto matches = [](std::string_view word, std::uint32_t number) {
      return word == "*" || word == std::to_string(number);
    };
    const bool access = words[2].find('r') != std::string_view::npos &&
                        words[2].find('w') != std::string_view::npos;
    if (access && matches(words[1].substr(0, colon), major) &&
        matches(words[1].substr(colon + 1), minor))
      return true;
  }
  return false;
}

}  // namespace fabric::inspect
