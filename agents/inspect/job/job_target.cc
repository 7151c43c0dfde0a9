// Finding the process or namespace that is meant.
#include <algorithm>
#include <cctype>

#include "agents/host/machine.h"
#include "agents/host/network_namespace.h"
#include "agents/inspect/job/job_view.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

bool IsPid(const std::string& text) {
  return !text.empty() && text.size() < 10 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string Canonical(std::string_view uid) {
  std::string text(uid);
  for (char& c : text) c = c == '_' ? '-' : static_cast<char>(std::tolower(c));
  return text;
}

// The namespace and whether it is another than the caller's; without the right to look, unknown.
void Identify(const Dir& root, JobTarget& target) {
  const auto there = root.Info(target.namespace_path);
  const auto here = root.Info("proc/self/ns/net");
  if (there.ok()) target.network_namespace = there->inode;
  if (there.ok() && here.ok()) target.own = there->inode != here->inode;
}

Result<JobTarget> OfPid(const Dir& root, const std::string& pid) {
  if (!root.Has("proc/" + pid)) return Status(Code::kNotFound, Format("no such process: {}", pid));
  JobTarget target;
  ASSIGN_OR_RETURN(target.pid, ParseNumber<std::uint32_t>(pid));
  target.namespace_path = Format("proc/{}/ns/net", pid);
  Identify(root, target);
  return target;
}

}  // namespace

Result<JobTarget> FindJob(const Dir& root, const std::string& netns) {
  if (IsPid(netns)) return OfPid(root, netns);
  JobTarget target;
  if (netns.find('/') != std::string::npos)
    target.namespace_path = netns.substr(std::min(netns.find_first_not_of('/'), netns.size()));
  else
    target.namespace_path =
        (root.Has("run/netns/" + netns) ? "run/netns/" : "var/run/netns/") + netns;
  if (netns.find('/') != std::string::npos && !root.Has(target.namespace_path))
    return Status(Code::kNotFound, netns + ": No such file or directory");
  if (netns.empty() || target.namespace_path.empty() || !root.Has(target.namespace_path))
    return Status(Code::kNotFound,
                  Format("{}: expected a PID, a name from `ip netns`, or the path of a "
                         "namespace file",
                         Quoted(netns)));
  Identify(root, target);
  return target;
}

Result<JobTarget> FindPod(const Dir& root, const std::string& uid) {
  const std::string wanted = Canonical(uid);
  ASSIGN_OR_RETURN(const Dir processes, root.Sub("proc"));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, processes.Names());
  std::string found;
  for (const std::string& pid : names) {
    if (!IsPid(pid)) continue;
    const Result<std::string> cgroup = processes.Text(pid + "/cgroup");
    if (!cgroup.ok() || PodUid(*cgroup) != wanted) continue;
    const Result<std::string> name = processes.Text(pid + "/comm");
    found = pid;
    if (name.ok() && *name != "pause") break;
  }
  if (found.empty())
    return Status(Code::kNotFound,
                  Format("no process is in a cgroup of pod {} (kubepods...pod<UID>)", Quoted(uid)));
  return OfPid(root, found);
}

Result<std::string> UidOfPod(const std::vector<host::Pod>& pods, std::string_view name) {
  const auto at = std::find_if(pods.begin(), pods.end(), [&](const host::Pod& pod) {
    return pod.name_space + "/" + pod.name == name;
  });
  if (at != pods.end()) return at->uid;
  return Status(Code::kNotFound, Format("no pod {} on this machine; the container runtime lists {}",
                                        Quoted(name), Plural(pods.size(), "pod")));
}

Result<v1::NodeSnapshot> InspectJob(const Host& host, const JobTarget& target,
                                    const InspectOptions& options) {
  const auto look = [&](const Host& inside) {
    v1::NodeSnapshot snapshot = Inspect(inside, options);
    AddJobView(inside, target, snapshot);
    return snapshot;
  };
  const bool same = target.own.has_value() && !*target.own;
  if (host.captured || same) return look(host);
  ASSIGN_OR_RETURN(const std::string bytes,
                   host::InNetworkNamespace("/" + target.namespace_path, [&] {
                     auto machine = host::Machine::Open("/");
                     return machine.ok() ? look(machine->host()).SerializeAsString() : "";
                   }));
  v1::NodeSnapshot snapshot;
  if (!bytes.empty() && snapshot.ParseFromString(bytes)) return snapshot;
  return Status(Code::kDataLoss, target.namespace_path + ": no result from the child process");
}

std::string PodUid(std::string_view cgroup) {
  constexpr std::size_t kUuid = 36;
  constexpr std::size_t kHash = 32;  // Of pods that come from a file
  for (std::string_view part : Split(cgroup, '/')) {
    part = part.substr(0, part.find('\n'));
    if (part.ends_with(".slice")) part.remove_suffix(6);
    if (!part.starts_with("kubepods") && !part.starts_with("pod")) continue;
    const std::size_t at = part.rfind("pod");
    const std::string uid = Canonical(part.substr(at + 3));
    const bool hex = std::all_of(uid.begin(), uid.end(),
                                 [](unsigned char c) { return std::isxdigit(c) != 0 || c == '-'; });
    if (hex && (uid.size() == kUuid || uid.size() == kHash)) return uid;
  }
  return {};
}

}  // namespace fabric::inspect
