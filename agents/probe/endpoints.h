// Endpoints between the wire and host/. Pure.
#pragma once

#include "agents/host/verbs/queue_pairs.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::probe {

v1::ProbeEndpoint ToProto(const host::Endpoint& endpoint);
host::Endpoint FromProto(const v1::ProbeEndpoint& proto);

}  // namespace fabric::probe
