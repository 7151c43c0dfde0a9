// Snapshots of captured machines: one golden text for each field of NodeSnapshot with the values of
// all machines, so that a new field of the schema changes one file.
#pragma once

#include <google/protobuf/message.h>

#include <map>
#include <span>
#include <string>

#include "fabric/v1/inventory.pb.h"

namespace fabric::testing {

// Names of the machines: tests/fixtures/<name>.tree
std::span<const char* const> CapturedMachines();

// The snapshot of a machine, from tests/golden/snapshot.
v1::NodeSnapshot Captured(const std::string& machine);

// Golden texts by field: a JSON object with the value of each machine that has the field. The
// snapshots have one type.
std::map<std::string, std::string> GoldensByField(
    const std::map<std::string, const google::protobuf::Message*>& snapshots);

}  // namespace fabric::testing
