// Client of a folder with snapshots in place of a controller: option --snapshot.
#pragma once

#include <memory>
#include <string>

#include "ctl/client.h"
#include "ctl/command.h"

namespace fabric::ctl {

// Answers calls about nodes, ports and findings from the snapshots in the *.json files of `folder`,
// all of them connected, judged by the built-in rules without a profile. Other calls are
// UNIMPLEMENTED. `stream` shows the progress of reading. Every call returns the error of a file
// that cannot be used.
std::unique_ptr<Client> MakeSnapshotClient(const std::string& folder, Stream& stream);

// INVALID_ARGUMENT if the command with these arguments cannot use files.
Status CheckSnapshot(const Command& command, const Arguments& arguments);

}  // namespace fabric::ctl
