// Calls a list method turn by turn until its page is full, so that no turn is long.
#pragma once

#include <google/protobuf/message.h>

#include <functional>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/control/listing/list_turn.h"

namespace fabric::control {

// Collects the elements of one turn, under the lock of the controller.
using TakeTurn = std::function<Status(const google::protobuf::Message& request,
                                      google::protobuf::Message& response, ListTurn& turn)>;

// The response has a list as its first field, and next_page_token.
Status CallInTurns(const google::protobuf::Message& request, google::protobuf::Message& response,
                   Moment now, const TakeTurn& take_turn);

}  // namespace fabric::control
