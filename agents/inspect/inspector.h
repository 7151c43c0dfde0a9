// Inspectors read the machine into a NodeSnapshot.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "agents/host/host.h"
#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

using host::Dir;
using host::Host;

// A stateless value: a name, a sentence, a function. inspect() returns an error only when it could
// learn nothing at all (the runner makes a gap of it); one missing attribute is a gap that it adds
// itself. Inspectors run in the order of the catalog and may read what earlier ones have filled in.
struct Inspector {
  std::string_view name;
  std::string_view doc;
  Status (*inspect)(const Host&, v1::NodeSnapshot&);
};

std::span<const Inspector* const> AllInspectors();  // Generated; see CMakeLists.txt.

struct InspectOptions {
  std::string node_name;  // Empty: the host name of the machine.
  WallTime now;
};

// Runs every inspector, one after the other. Lists of the result are sorted as inventory.proto
// says.
v1::NodeSnapshot Inspect(const Host& host, const InspectOptions& options);

// Adds a gap to the snapshot. `path` is where it was looked for; of `status`, code and message.
void AddGap(v1::NodeSnapshot& snapshot, std::string_view inspector, std::string_view subject,
            std::string_view path, const Status& status);

}  // namespace fabric::inspect
