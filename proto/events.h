// Kind and nodes of events, for filters and tables.
#pragma once

#include <string_view>

#include "fabric/v1/fabric.pb.h"
#include "proto/affected.h"

namespace fabric {

// "node", "finding", "campaign", "probe", "port" or "gap"; empty: of a newer version.
std::string_view EventKind(const v1::Event& event);

// Whether the event is about one of the nodes. A campaign is not about nodes; its probes are.
bool IsAbout(const v1::Event& event, const NodeSet& nodes);

// The event is about the labels of a node, and not about a change of its state.
bool IsLabelChange(const v1::Event& event);

}  // namespace fabric
