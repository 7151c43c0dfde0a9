// Inspectors read the machine into a NodeSnapshot.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "agents/host/event_set.h"
#include "agents/host/host.h"
#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

using host::Dir;
using host::EventKind;
using host::EventSet;
using host::Host;

// A stateless value: a name, a sentence, a function. inspect() returns an error only when it could
// learn nothing at all (the runner makes a gap of it); one missing attribute is a gap that it adds
// itself. Inspectors run in the order of the catalog and may read what earlier ones have filled in.
struct Inspector {
  std::string_view name;
  std::string_view doc;
  Status (*inspect)(const Host&, v1::NodeSnapshot&);
  // What makes it worth running. Between two checks of everything, an inspector that is not woken
  // may be left out if it has said what it `owns`: names of fields of NodeSnapshot, with blanks
  // between them, that it fills alone or with others that own them too. They and its gaps then stay
  // as they were.
  EventSet wakes = EventSet::All();
  std::string_view owns = {};
  // One that fills a part of what others fill may say how that part is moved over from the previous
  // snapshot instead. What others do is done by then.
  void (*keep)(v1::NodeSnapshot& previous, v1::NodeSnapshot& snapshot) = nullptr;
};

std::span<const Inspector* const> AllInspectors();  // Generated; see CMakeLists.txt.

struct InspectOptions {
  std::string node_name;  // Empty: the host name of the machine.
  WallTime now;
  std::span<const Inspector* const> inspectors = AllInspectors();
  EventSet events = EventSet::All();          // Why it is inspected
  v1::NodeSnapshot* previous = nullptr;       // Taken apart for what need not run; none: all runs.
  std::span<const std::string> hanging = {};  // Inspectors that are not run: a gap says so.
  std::function<void(const Inspector&)> begins = [](const Inspector&) {};
};

// Runs inspectors, one after the other. Lists of the result are sorted as inventory.proto says.
v1::NodeSnapshot Inspect(const Host& host, const InspectOptions& options);

// Adds a gap to the snapshot. `path` is where it was looked for; of `status`, code and message.
void AddGap(v1::NodeSnapshot& snapshot, std::string_view inspector, std::string_view subject,
            std::string_view path, const Status& status);

}  // namespace fabric::inspect
