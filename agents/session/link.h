// Link: the gRPC stream to the controller.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/tls/tls_files.h"
#include "fabric/v1/agent.pb.h"

namespace fabric::agent {

// Events of the stream, called from Dial() and from gRPC's threads. Must not call the link. A dial
// that fails at once may call OnDisconnected before OnConnected.
class LinkEvents {
 public:
  virtual ~LinkEvents() = default;
  virtual void OnConnected() = 0;  // Hello can be sent; the controller has not answered yet.
  virtual void OnMessage(v1::ControllerMessage message) = 0;
  virtual void OnIdle() = 0;  // All snapshots and changes have been sent.
  virtual void OnDisconnected(const Status& why) = 0;
};

struct LinkOptions {
  std::vector<std::string> controllers;  // "HOST:PORT"; each dial takes the next one
  const tls::TlsFiles* tls = nullptr;    // Read with each dial. Null: no TLS
};

// One stream at a time. Each dial opens a new connection, so that gRPC's backoff does not add to
// the agent's. Thread-safe.
class Link {
 public:
  Link(LinkOptions options, LinkEvents& events);
  ~Link();  // Hangs up and waits for OnDisconnected.

  // OnConnected and later OnDisconnected follow. Call it only after the last OnDisconnected.
  void Dial();
  void HangUp();

  // Queues a message; drops it without a stream. A heartbeat replaces a queued one. When 256
  // messages are queued, drops and counts the oldest one about a probe.
  void Send(const v1::AgentMessage& message);
  bool Idle();               // No snapshot or change is queued.
  std::string controller();  // Of the last dial
  std::uint64_t dropped();

 private:
  class Stream;

  const LinkOptions options_;
  std::size_t dials_ = 0;
  LinkEvents& events_;

  Mutex mutex_;
  std::condition_variable_any ended_;
  std::unique_ptr<Stream> stream_ GUARDED_BY(mutex_);
  std::uint64_t dropped_ GUARDED_BY(mutex_) = 0;
};

}  // namespace fabric::agent
