// Commands that inspect the machine once and print the result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agents/command_line.h"
#include "agents/host/machine.h"
#include "agents/host/pods/pods.h"
#include "agents/inspect/inspection.h"
#include "base/status.h"

namespace fabric::agent {

inline constexpr int kUsage = 2;                                    // Exit status
inline constexpr std::string_view kNodeExporter = "node-exporter";  // Of --compat

// Prints the failure. Returns `exit_status`.
int Fail(const Status& status, int exit_status);

std::vector<std::string> InspectorNames();

// Opens the machine for one thread.
inspect::Inspection::OpenMachine Opener(const std::string& root,
                                        const host::MachineOptions& options = {});

// inspect, ibdev2netdev, metrics or nccl-env. Returns the exit status. Call it in a process without
// other threads.
int PrintOnce(const CommandLine& line);

// doctor. Returns the exit status.
int PrintDoctor(const CommandLine& line);

// Logs the permissions that this process lacks, from a child process that is not waited for:
// drivers can block. Writes what it found to `folder` (empty: none), for doctor --unit. Call it in
// a process without other threads.
void LogMissingPermissions(const host::PodSockets& sockets, const std::string& folder);

}  // namespace fabric::agent
