// HTTP server of RestService: connections, limits, timeouts, server-sent events. Runs on one
// thread.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/settings.h"
#include "base/status.h"
#include "daemon/api/rest/rest_service.h"
#include "daemon/control/events.h"

namespace fabric::api {

struct RestLimits {
  std::size_t connections_max = 512;  // More are answered 503 and closed.
  std::size_t watchers_max = 128;     // Of these at most, so that others get through.
  std::uint32_t header_bytes_max = 16 << 10;
  std::uint64_t body_bytes_max = 4 << 20;
  Duration request_timeout = std::chrono::seconds(20);  // To send a request, or to take an answer
  Duration idle_timeout = std::chrono::seconds(60);     // Between requests
  Duration heartbeat = std::chrono::seconds(15);  // Of events; a write that takes longer ends it
};

class RestServer {
 public:
  // Listens and serves from then on; all are borrowed and must outlive the server. UNAVAILABLE or
  // INVALID_ARGUMENT with the address and the reason when that fails.
  static Result<std::unique_ptr<RestServer>> Listen(const HostPort& address,
                                                    const RestService& service,
                                                    control::EventBus& events,
                                                    const RestLimits& limits);
  ~RestServer();

  // With the port that was chosen when 0 was asked for.
  const HostPort& address() const;

  // Closes every connection; nothing of them runs any more on return.
  void Stop();

 private:
  class Loop;
  explicit RestServer(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace fabric::api
