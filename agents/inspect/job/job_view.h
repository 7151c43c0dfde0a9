// Job view: the machine as seen by a job in another network namespace or container
// (NodeSnapshot.job).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/inspect/inspector.h"

namespace fabric::inspect {

// The job to inspect.
struct JobTarget {
  std::optional<std::uint32_t> pid;  // Absent when given by a namespace file
  std::string namespace_path;        // Below the root: "proc/4242/ns/net", "run/netns/blue"
  std::optional<std::uint64_t> network_namespace;  // Inode; absent when not readable
  std::optional<bool> own;                         // Not the caller's namespace
  std::vector<host::Pod> pods = {};  // Those of this machine, for the name of the job's pod
};

// `netns`: a PID, a name from `ip netns`, or the path of a namespace file. NOT_FOUND for an unknown
// process or file.
Result<JobTarget> FindJob(const Dir& root, const std::string& netns);

// A process of the pod with this UID, by its cgroup path; prefers processes outside the container
// that holds the pod's namespaces. NOT_FOUND without a process of that pod.
Result<JobTarget> FindPod(const Dir& root, const std::string& uid);

// The UID of "NAMESPACE/NAME" in `pods`. NOT_FOUND when no pod has this name.
Result<std::string> UidOfPod(const std::vector<host::Pod>& pods, std::string_view name);

// Fills in `job` from the process's files in proc/ and from the snapshot, which was taken in the
// job's network namespace. Unreadable data becomes gaps of "job_view".
void AddJobView(const Host& host, const JobTarget& target, v1::NodeSnapshot& snapshot);

// The machine as the job sees it, with `job`: inspected in a child process in the job's network
// namespace, unless that is the caller's or the tree is captured. Errors of
// host::InNetworkNamespace.
Result<v1::NodeSnapshot> InspectJob(const Host& host, const JobTarget& target,
                                    const InspectOptions& options);

// The pod's UID in a cgroup path, in lower case with dashes; may be empty. Drivers:
// systemd ("kubepods-burstable-pod0c1d..._....slice") and cgroupfs
// ("kubepods/burstable/pod0c1d...").
std::string PodUid(std::string_view cgroup);

// Credentials of a process, from /proc/<pid>/status.
struct Credentials {
  std::uint32_t uid = 0;  // Effective
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;
  std::uint64_t capabilities = 0;  // Effective
};
Result<Credentials> ParseCredentials(std::string_view status);

// Whether the permission bits allow reading and writing the file.
bool MayReadWrite(const Credentials& who, const host::FileInfo& file);

// Whether a version 1 devices.list allows reading and writing this character device.
bool DeviceListed(std::string_view list, std::uint32_t major, std::uint32_t minor);

}  // namespace fabric::inspect
