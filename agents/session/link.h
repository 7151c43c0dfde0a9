// The stream to the controller over gRPC.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/status.h"
#include "fabric/v1/agent.pb.h"

namespace fabric::agent {

// What happens on the stream; called from Dial() and from gRPC's threads. Must not call the link.
// A dial that fails at once may report OnDisconnected before OnConnected.
class LinkEvents {
 public:
  virtual ~LinkEvents() = default;
  virtual void OnConnected() = 0;  // May be said hello to; not yet known to be answered.
  virtual void OnMessage(v1::ControllerMessage message) = 0;
  virtual void OnIdle() = 0;  // A snapshot or change has left, and none waits.
  virtual void OnDisconnected(const Status& why) = 0;
};

struct LinkOptions {
  std::string controller;  // "HOST:PORT"
};

// One stream at a time. Each dial has its own connection, so that gRPC's back-off does not add to
// the agent's. Safe to call from any thread.
class Link {
 public:
  Link(LinkOptions options, LinkEvents& events);
  ~Link();  // Hangs up and waits for OnDisconnected.

  // OnConnected and later OnDisconnected follow. Not before the OnDisconnected of the last dial.
  void Dial();
  void HangUp();

  // Queues a message; it is dropped when there is no stream. A heartbeat replaces one that still
  // waits. When 256 messages wait, the oldest of those about probes is dropped and counted.
  void Send(const v1::AgentMessage& message);
  bool Idle();  // No snapshot and no change waits.
  std::uint64_t dropped();

 private:
  class Stream;

  const LinkOptions options_;
  LinkEvents& events_;

  Mutex mutex_;
  std::condition_variable_any ended_;
  std::unique_ptr<Stream> stream_ GUARDED_BY(mutex_);
  std::uint64_t dropped_ GUARDED_BY(mutex_) = 0;
};

}  // namespace fabric::agent
