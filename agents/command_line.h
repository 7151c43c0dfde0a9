// The words after `fabric-agent`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace fabric::agent {

enum class Command { kHelp, kRun, kInspect, kIbdev2Netdev, kMetrics, kNcclEnv, kVersion };

struct CommandLine {
  Command command = Command::kHelp;
  std::string root = "/";
  std::string output;             // Of inspect: table, json, yaml; of nccl-env: env, table, json
  std::string compat = "none";    // Of metrics: none, node-exporter
  std::string netns;              // Of inspect and nccl-env: a PID, a name or a path
  std::string pod;                // The same: a pod's UID
  bool verbose = false;           // Of ibdev2netdev
  std::uint32_t lldp_wait_s = 0;  // Of inspect
  std::vector<std::string> rest;  // Of run: its settings
  std::string help;               // Of kHelp: what to print
};

// INVALID_ARGUMENT with one line for what cannot be meant.
Result<CommandLine> ParseCommandLine(int argc, const char* const* argv);

}  // namespace fabric::agent
