// Command "subnet read": reads the InfiniBand subnet once and prints a snapshot.
#pragma once

#include "agents/command_line.h"

namespace fabric::agent {

// Prints the snapshot on standard output, and progress on standard error if that is a terminal.
// Returns the exit status: 1 if the subnet cannot be read.
int PrintSubnet(const SubnetReadOptions& options);

}  // namespace fabric::agent
