// Sends messages of the controller to agents. Implemented by the gRPC front, faked in tests.
#pragma once

#include "base/ids.h"
#include "base/status.h"
#include "fabric/v1/agent.pb.h"

namespace fabric::control {

class AgentSink {
 public:
  virtual ~AgentSink() = default;
  // Queues; never blocks and never calls back into the controller. Drops messages to a session that
  // is gone.
  virtual void Send(SessionId session, const v1::ControllerMessage& message) = 0;
  // Ends the stream with this status after the queued messages.
  virtual void Close(SessionId session, const Status& status) = 0;
  // False: start no probes now, because another controller may lead.
  virtual bool MayOrder() const { return true; }
};

}  // namespace fabric::control
