// What a job in another network namespace or container sees: NodeSnapshot.job.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/inspect/inspector.h"

namespace fabric::inspect {

// Whose view is asked for.
struct JobTarget {
  std::optional<std::uint32_t> pid;  // Absent when the namespace was named by its file.
  std::string namespace_path;        // Below the root: "proc/4242/ns/net", "run/netns/blue"
  std::optional<std::uint64_t> network_namespace;  // Inode; absent when it could not be read.
  std::optional<bool> own;                         // Another one than the caller's.
};

// `netns` is a PID, the name of a namespace that `ip netns` knows, or the path of its file.
// NOT_FOUND when there is no such process or file.
Result<JobTarget> FindJob(const Dir& root, const std::string& netns);

// A process of the pod with this UID, as its cgroup's path names it: one that is not the container
// that holds the pod's namespaces, when there is one. NOT_FOUND when no process is of that pod.
Result<JobTarget> FindPod(const Dir& root, const std::string& uid);

// Fills in `job`: from the process's files below proc/ and from what the snapshot has, which was
// taken within the job's network namespace. What cannot be read becomes a gap of "job_view".
void AddJobView(const Host& host, const JobTarget& target, v1::NodeSnapshot& snapshot);

// The machine as the job sees it, with `job`: inspected in a child process within the job's network
// namespace, unless that is the caller's own or the tree is a captured one. Errors are those of
// host::InNetworkNamespace.
Result<v1::NodeSnapshot> InspectJob(const Host& host, const JobTarget& target,
                                    const InspectOptions& options);

// The pod's UID in the path of a cgroup, in lower case with dashes; empty: of no pod. Drivers:
// systemd ("kubepods-burstable-pod0c1d..._....slice") and cgroupfs
// ("kubepods/burstable/pod0c1d...").
std::string PodUid(std::string_view cgroup);

// Who a process is, of /proc/<pid>/status.
struct Credentials {
  std::uint32_t uid = 0;  // Effective
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;
  std::uint64_t capabilities = 0;  // Effective
};
Result<Credentials> ParseCredentials(std::string_view status);

// Whether the permission bits let it read and write the file.
bool MayReadWrite(const Credentials& who, const host::FileInfo& file);

// Whether a version 1 devices.list lets a process read and write this character device.
bool DeviceListed(std::string_view list, std::uint32_t major, std::uint32_t minor);

}  // namespace fabric::inspect
