#include <algorithm>
#include <array>
#include <map>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/host_texts.h"
#include "agents/inspect/parse/parse.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kHostLimitsName = "host_limits";
constexpr std::string_view kConf = ".conf";

std::vector<std::string> ConfFiles(const Host& host, const std::string& directory) {
  std::vector<std::string> files;
  const Result<Dir> dir = host.root.Sub(directory);
  const Result<std::vector<std::string>> names = dir.ok() ? dir->Names() : dir.status();
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>())
    if (name.ends_with(kConf)) files.push_back(name);
  return files;
}

// Absent without the file; an unreadable file is a gap.
std::optional<std::string> ReadConf(const Host& host, const Gaps& gaps, const std::string& path) {
  Result<std::string> text = host.root.Whole(path);
  if (text.ok()) return *std::move(text);
  if (text.status().code() != Code::kNotFound) gaps.Add(path, text.status());
  return std::nullopt;
}

// pam_limits: limits.conf, then limits.d in the order of names; the last word counts.
void ReadUserLimit(const Host& host, const Gaps& gaps, v1::HostFacts& facts) {
  std::optional<v1::MemoryLimit> limit;
  bool any = false;
  for (const std::string base : {"usr/etc/security/limits", "etc/security/limits"}) {
    std::vector<std::string> paths{base + ".conf"};
    for (const std::string& name : ConfFiles(host, base + ".d"))
      paths.push_back(base + ".d/" + name);
    for (const std::string& path : paths) {
      const std::optional<std::string> text = ReadConf(host, gaps, path);
      any = any || text;
      if (text) ApplyLimitsConf(*text, path, limit);
    }
  }
  if (limit) *facts.mutable_default_user_memlock() = *std::move(limit);
  if (!any && host.captured)
    gaps.Add("etc/security/limits.conf", Status(Code::kNotFound, "not in the captured tree"));
}

// systemd-system.conf(5): one system.conf, then drop-ins by name, where a file in etc/ hides one of
// the same name in run/ and that one in usr/lib.
void ReadServiceLimit(const Host& host, const Gaps& gaps, v1::HostFacts& facts) {
  std::optional<v1::MemoryLimit> limit;
  for (const std::string path : {"etc/systemd/system.conf", "usr/lib/systemd/system.conf"}) {
    const std::optional<std::string> text = ReadConf(host, gaps, path);
    if (!text) continue;
    ApplySystemdConf(*text, path, true, limit);
    break;
  }
  std::map<std::string, std::string> drop_ins;  // By name
  for (const std::string parent : {"usr/lib", "run", "etc"})
    for (const std::string& name : ConfFiles(host, parent + "/systemd/system.conf.d"))
      drop_ins[name] = parent + "/systemd/system.conf.d/" + name;
  for (const auto& [name, path] : drop_ins)
    if (const std::optional<std::string> text = ReadConf(host, gaps, path))
      ApplySystemdConf(*text, path, false, limit);
  if (limit) *facts.mutable_default_service_memlock() = *std::move(limit);
}

void ReadAgentLimit(const Host& host, const Gaps& gaps, v1::HostFacts& facts) {
  constexpr const char* kPath = "proc/self/limits";
  const Result<std::string> text = host.root.Text(kPath);
  const Result<v1::MemoryLimit> limit = text.ok() ? ParseProcLimits(*text) : text.status();
  if (!limit.ok()) return gaps.Add(kPath, limit.status());
  *facts.mutable_agent_memlock() = *limit;
  facts.mutable_agent_memlock()->set_source(kPath);
}

// Version 2 first, then the mount of a version 1 controller. The nearest cgroup upwards that has
// the file: below it the controller is not enabled and its limit holds.
std::optional<std::string> CgroupFile(const Host& host, const std::string& mount,
                                      const std::optional<std::string>& path,
                                      const std::string& file) {
  if (!path) return std::nullopt;
  std::string below = *path;
  while (true) {
    while (below.ends_with('/')) below.pop_back();
    const Result<std::string> text = host.root.Text(mount + below + "/" + file);
    if (text.ok() || text.status().code() != Code::kNotFound || below.empty())
      return text.ok() ? std::optional(*text) : std::nullopt;
    below.resize(below.find_last_of('/'));
  }
}

void ReadCgroup(const Host& host, const Gaps& gaps, v1::HostFacts& facts) {
  constexpr const char* kPath = "proc/self/cgroup";
  const Result<std::string> text = host.root.Text(kPath);
  if (!text.ok()) return gaps.Add(kPath, text.status());
  const auto one_line = [](std::string lines) {
    std::replace(lines.begin(), lines.end(), '\n', ';');
    return lines;
  };
  const std::optional<std::string> unified = CgroupPath(*text, "");
  const std::optional<std::string> rdma = CgroupPath(*text, "rdma");
  const std::optional<std::string> devices = CgroupPath(*text, "devices");
  const auto limits = rdma ? CgroupFile(host, "sys/fs/cgroup/rdma", rdma, "rdma.max")
                           : CgroupFile(host, "sys/fs/cgroup", unified, "rdma.max");
  if (limits) facts.set_rdma_cgroup_limits(one_line(*limits));
  if (const auto list = CgroupFile(host, "sys/fs/cgroup/devices", devices, "devices.list"))
    facts.set_device_cgroup(one_line(*list));
  else if (unified)
    facts.set_device_cgroup("bpf");
  else if (!devices)
    facts.set_device_cgroup("none");
}

void ReadSysctls(const Host& host, const Gaps& gaps, const v1::NodeSnapshot& snapshot,
                 v1::HostFacts& facts) {
  std::vector<std::string> names{"kernel/numa_balancing", "net/ipv4/tcp_ecn"};
  const auto interface = [&](const std::string& netdev) {
    for (const char* setting : {"arp_announce", "arp_filter", "arp_ignore", "rp_filter"})
      names.push_back(Format("net/ipv4/conf/{}/{}", netdev, setting));
  };
  interface("all");
  for (const v1::NetInterface& netdev : snapshot.net_interfaces())
    if (CarriesRdma(snapshot, netdev.name())) interface(netdev.name());
  const Result<Dir> dir = host.root.Sub("proc/sys");
  if (!dir.ok()) return gaps.Add("proc/sys", dir.status());
  if (!dir->Has("net/ipv4"))
    gaps.Add("proc/sys/net/ipv4", Status(Code::kNotFound, "no such directory"));
  for (const std::string& name : names) {
    const Result<std::string> text = dir->Text(name);
    if (!text.ok() && text.status().code() != Code::kNotFound)
      gaps.Add("proc/sys/" + name, text.status());
    if (!text.ok() || text->empty()) continue;
    v1::Sysctl& sysctl = *facts.add_sysctls();
    // As sysctl(8) prints it: a dot within a name ("eth0.100") becomes a slash.
    std::string spelled = name;
    for (char& c : spelled) c = c == '/' ? '.' : c == '.' ? '/' : c;
    sysctl.set_name(spelled);
    sysctl.set_value(*text);
  }
  std::sort(facts.mutable_sysctls()->begin(), facts.mutable_sysctls()->end(),
            [](const v1::Sysctl& a, const v1::Sysctl& b) { return a.name() < b.name(); });
}

Status InspectHostLimits(const Host& host, v1::NodeSnapshot& out) {
  const Gaps gaps{.snapshot = out, .inspector = kHostLimitsName, .subject = ""};
  v1::HostFacts& facts = *out.mutable_host();
  ReadUserLimit(host, gaps, facts);
  ReadServiceLimit(host, gaps, facts);
  if (!host.captured) {  // A capture has no process that is us.
    ReadAgentLimit(host, gaps, facts);
    ReadCgroup(host, gaps, facts);
  }
  ReadSysctls(host, gaps, out, facts);
  return {};
}

}  // namespace

extern const Inspector host_limits = {
    .name = kHostLimitsName,
    .doc = "Limits of locked memory and cgroups, and sysctls relevant to RDMA.",
    .inspect = InspectHostLimits,
    .wakes = EventKind::kHotplug | EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kHostFieldNumber},
};

}  // namespace fabric::inspect
