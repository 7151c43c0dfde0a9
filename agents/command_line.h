// Command line of fabric-agent. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace fabric::agent {

enum class Command {
  kHelp,
  kRun,
  kInspect,
  kIbdev2Netdev,
  kMetrics,
  kNcclEnv,
  kSubnetRead,
  kDoctor,
  kVersion
};

// Options of "subnet read".
struct SubnetReadOptions {
  std::string device;  // Empty: the first
  std::uint32_t port = 0;
  std::string ibsim;       // Socket name; empty: a device of this node
  std::string ibsim_node;  // Id of the node in the simulator
  std::string m_key_file;
  Duration rate_interval{};
  std::uint32_t smps = 0;
  std::uint32_t gmps = 0;
  std::uint32_t per_second = 0;
  bool topology_only = false;
  std::string file;  // Empty: standard output
};

struct CommandLine {
  Command command = Command::kHelp;
  std::string root = "/";
  std::string output;             // Format of the command
  std::string compat = "none";    // metrics: none, node-exporter
  std::string netns;              // inspect and nccl-env: a PID, a name or a path
  std::string pod;                // inspect and nccl-env: a pod's UID or NAMESPACE/NAME
  std::string kubelet;            // inspect, doctor: socket of the kubelet
  std::string runtime;            // inspect, nccl-env, doctor: socket of the container runtime
  bool unit = false;              // doctor
  bool verbose = false;           // ibdev2netdev
  std::uint32_t lldp_wait_s = 0;  // inspect
  SubnetReadOptions subnet_read;
  std::vector<std::string> rest;  // run: its settings
  std::string help;               // kHelp: the text to print
};

// INVALID_ARGUMENT with one line for an invalid command line.
Result<CommandLine> ParseCommandLine(int argc, const char* const* argv);

}  // namespace fabric::agent
