// Settings of a job's libraries: NCCL, RCCL, UCX and NVSHMEM variables and /etc/nccl.conf, and
// versions of NCCL and rdma-core. Only variables of a fixed list are taken; others can contain
// secrets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agents/inspect/inspector.h"

namespace fabric::inspect {

// Settings of one process.
struct JobSettings {
  std::vector<v1::JobVariable> variables;  // Sorted by name; the environment hides nccl.conf.
  Status environment;                      // Why the environment is unknown
  std::vector<v1::JobLibrary> libraries;   // Sorted by name
};

// Of a process: proc/PID/{environ,maps} and files below proc/PID/root.
JobSettings ReadJobSettings(const Host& host, std::uint32_t pid);

// Libraries below `root`, "" or "proc/4242/root/": the newest file of each name.
std::vector<v1::JobLibrary> InstalledLibraries(const Host& host, const std::string& root);

// Parsers. Pure; skip what they do not know.
std::vector<v1::JobVariable> ParseEnvironment(std::string_view environ);  // NAME=VALUE and NUL
std::vector<v1::JobVariable> ParseNcclConf(std::string_view text);
std::vector<v1::JobLibrary> LibrariesOfMaps(std::string_view maps);
// "libnccl.so.2.21.5": name "libnccl", version "2.21.5". Empty name: a library of no interest.
v1::JobLibrary LibraryOfFile(std::string_view file_name);
// Version of NCCL in the name of a Python package: "nvidia_nccl_cu12-2.21.5.dist-info". Empty:
// another package.
std::string VersionOfPackage(std::string_view directory_name);

}  // namespace fabric::inspect
