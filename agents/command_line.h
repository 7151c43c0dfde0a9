// Command line of fabric-agent. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace fabric::agent {

enum class Command { kHelp, kRun, kInspect, kIbdev2Netdev, kMetrics, kNcclEnv, kDoctor, kVersion };

struct CommandLine {
  Command command = Command::kHelp;
  std::string root = "/";
  std::string output;             // Format of the command
  std::string compat = "none";    // metrics: none, node-exporter
  std::string netns;              // inspect and nccl-env: a PID, a name or a path
  std::string pod;                // inspect and nccl-env: the UID of a pod
  bool verbose = false;           // ibdev2netdev
  std::uint32_t lldp_wait_s = 0;  // inspect
  std::vector<std::string> rest;  // run: its settings
  std::string help;               // kHelp: the text to print
};

// INVALID_ARGUMENT with one line for an invalid command line.
Result<CommandLine> ParseCommandLine(int argc, const char* const* argv);

}  // namespace fabric::agent
