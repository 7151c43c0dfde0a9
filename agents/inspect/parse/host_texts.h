// Parsers for files about the host. Pure; each takes the content of one file. Skip lines in other
// formats, like the programs that own the files.
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

// os-release: KEY=value lines without shell quotes.
std::map<std::string, std::string> ParseOsRelease(std::string_view text);

// One line of /proc/modules. `flags`: taints, "OE"; may be empty.
struct ModuleLine {
  std::string name;
  std::vector<std::string> used_by;
  std::string flags;
};
std::vector<ModuleLine> ParseProcModules(std::string_view text);

// Whether a module is relevant to RDMA, its NICs, or GPUs.
bool ModuleMatters(std::string_view name);

// "Max locked memory" of /proc/<pid>/limits, without `source`.
Result<v1::MemoryLimit> ParseProcLimits(std::string_view text);

// memlock for all users ("*") in limits.conf(5), in KiB. Overrides earlier files; then sets
// `source`.
void ApplyLimitsConf(std::string_view text, std::string_view source,
                     std::optional<v1::MemoryLimit>& limit);

// DefaultLimitMEMLOCK= of systemd-system.conf(5); overrides earlier files. The file shipped by
// systemd has its compiled-in defaults as comments, which are used with `comments_are_defaults`.
void ApplySystemdConf(std::string_view text, std::string_view source, bool comments_are_defaults,
                      std::optional<v1::MemoryLimit>& limit);

// Output of `ofed_info -s`, from the text of that script. Empty when not found.
std::string VersionOfOfedInfo(std::string_view script);

// Numbers of a list of ascending ranges, "0-3,8"; empty for an empty text. Below 65,536.
Result<std::vector<std::uint32_t>> NumbersOfList(std::string_view text);
// The list of ascending numbers: "0-3,8".
std::string ListOfNumbers(const std::vector<std::uint32_t>& numbers);
// Number of elements of "0-1,4".
Result<std::uint32_t> CountOfList(std::string_view text);

// Bytes of the line "Key:  123 kB" in /proc/meminfo.
std::optional<std::uint64_t> MeminfoBytes(std::string_view text, std::string_view key);

// The value of the last "key=value" word of a kernel command line; absent without one.
std::optional<std::string> CommandLineValue(std::string_view command_line, std::string_view key);

// The path of a controller in /proc/<pid>/cgroup; "" for version 2. Absent without one.
std::optional<std::string> CgroupPath(std::string_view text, std::string_view controller);

// Hypervisor in DMI texts, by its systemd name ("kvm", "vmware"); empty for an unknown or no
// hypervisor.
std::string_view HypervisorOfDmi(std::string_view vendor, std::string_view product);

// Name of the first processor in the start of /proc/cpuinfo: "model name" of x86, or the name of
// the implementer and part of arm64, "Neoverse-V2". Absent for a part that is not known.
std::optional<std::string> CpuModel(std::string_view cpuinfo);

// Whether /proc/cpuinfo of an x86 machine has the flag "hypervisor"; absent without flags.
std::optional<bool> HypervisorFlag(std::string_view cpuinfo);

}  // namespace fabric::inspect
