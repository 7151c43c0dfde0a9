// Views for who keeps them while their nodes change: the engine of the rules.
#pragma once

#include "daemon/fleet/fleet_view.h"

namespace fabric::fleet {

// Makes it what ViewOf() makes of the record. One that was in use takes no memory anew.
void Fill(NodeView& view, const NodeRecord& record, const profile::Profile& profile,
          ExpectationTable& expectations);

}  // namespace fabric::fleet
