// Texts about the machine around the fabric as values. Pure; each takes the content of one file.
// Lines that are not in the expected format are skipped, as the programs that own them do.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "fabric/v1/host.pb.h"

namespace fabric::inspect {

// os-release: KEY=value lines with the quotes of a shell taken off.
std::map<std::string, std::string> ParseOsRelease(std::string_view text);

// One line of /proc/modules. `flags` are its taints, "OE"; empty: none.
struct ModuleLine {
  std::string name;
  std::vector<std::string> used_by;
  std::string flags;
};
std::vector<ModuleLine> ParseProcModules(std::string_view text);

// Whether a module has to do with RDMA, its NICs, or GPUs that use it.
bool ModuleMatters(std::string_view name);

// "Max locked memory" of /proc/<pid>/limits, without `source`.
Result<v1::MemoryLimit> ParseProcLimits(std::string_view text);

// What limits.conf(5) says of memlock for every user ("*"), over what earlier files have said. The
// value counts in KiB. `source` is noted when the file says anything.
void ApplyLimitsConf(std::string_view text, std::string_view source,
                     std::optional<v1::MemoryLimit>& limit);

// DefaultLimitMEMLOCK= of systemd-system.conf(5), over what earlier files have said. The file that
// systemd ships names its compiled-in defaults as comments: taken with `comments_are_defaults`.
void ApplySystemdConf(std::string_view text, std::string_view source, bool comments_are_defaults,
                      std::optional<v1::MemoryLimit>& limit);

// What the program ofed_info would print with -s: it is a script that holds its answer. Empty:
// not found.
std::string VersionOfOfedInfo(std::string_view script);

// "0-1,4": how many there are.
Result<std::uint32_t> CountOfList(std::string_view text);

// Where the memory lines of /proc/meminfo say "Key:  123 kB", the bytes.
std::optional<std::uint64_t> MeminfoBytes(std::string_view text, std::string_view key);

// The value of the last "key=value" word of a kernel command line; absent: not there.
std::optional<std::string> CommandLineValue(std::string_view command_line, std::string_view key);

// The path of a controller in /proc/<pid>/cgroup; "" asks for version 2. Absent: none there.
std::optional<std::string> CgroupPath(std::string_view text, std::string_view controller);

// Which hypervisor the DMI texts name, in systemd's words ("kvm", "vmware"); empty: none of those
// that are known, which a machine without hypervisor also is.
std::string_view HypervisorOfDmi(std::string_view vendor, std::string_view product);

// Whether /proc/cpuinfo of an x86 machine has the flag "hypervisor"; absent: no flags there.
std::optional<bool> HypervisorFlag(std::string_view cpuinfo);

}  // namespace fabric::inspect
