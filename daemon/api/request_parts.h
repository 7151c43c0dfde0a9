// Nodes and rails that a request is about, for roles of a part of the fabric.
#pragma once

#include <google/protobuf/message.h>

#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/access/scopes.h"
#include "daemon/control/controller.h"

namespace fabric::api {

// With the labels that the nodes have now. One part that is about everything for requests of an
// unknown type. NOT_FOUND if the request names a finding, silence, campaign or schedule that does
// not exist.
Result<std::vector<access::Part>> PartsOf(control::Controller& controller,
                                          const google::protobuf::Message& request, Moment now);

}  // namespace fabric::api
