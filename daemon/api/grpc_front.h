// The gRPC server: service Fabric by descriptors, so that an rpc needs no line here, AgentLink, and
// server reflection.
#pragma once

#include <memory>

#include "base/settings.h"
#include "base/status.h"
#include "daemon/api/fabric_api.h"
#include "daemon/control/events.h"

namespace fabric::api {

class AgentFront;

class GrpcFront {
 public:
  // Listens; all are borrowed and must outlive the front. UNAVAILABLE with the address and the
  // reason when that fails.
  static Result<std::unique_ptr<GrpcFront>> Listen(const HostPort& address, CallFunction call,
                                                   control::EventBus& events, AgentFront& agents);
  ~GrpcFront();

  // With the port that was chosen when 0 was asked for.
  const HostPort& address() const;

  // Ends all calls, watchers and agents with UNAVAILABLE; returns within half a second or so, when
  // nothing of them runs any more.
  void Stop();

 private:
  struct Parts;
  explicit GrpcFront(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// Sends gRPC's own log lines to ours: its errors as warnings, the rest as debug lines.
void RedirectGrpcLog();

}  // namespace fabric::api
