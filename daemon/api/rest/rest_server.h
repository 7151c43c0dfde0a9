// HTTP server of RestService: listener, threads and limits.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/settings.h"
#include "base/status.h"
#include "base/tls/contexts.h"
#include "daemon/api/peer_slots.h"
#include "daemon/api/rest/rest_service.h"
#include "daemon/control/events.h"

namespace fabric::api {

struct RestLimits {
  std::size_t threads = 4;
  // More are answered 503 and closed.
  SlotLimits connections = {.total = 512, .per_peer = 256};
  std::uint32_t header_bytes_max = 16 << 10;
  std::uint64_t body_bytes_max = 4 << 20;              // Routes have lower limits.
  std::uint64_t all_bodies_bytes_max = 64 << 20;       // Of requests that are being read
  Duration header_timeout = std::chrono::seconds(10);  // To send a header
  Duration body_timeout = std::chrono::seconds(20);    // To send a body
  Duration write_timeout = std::chrono::seconds(20);   // To take an answer, or a chunk of it
  Duration idle_timeout = std::chrono::seconds(60);    // Between requests
  Duration heartbeat = std::chrono::seconds(15);  // Of events; a write that takes longer ends it
};

class RestServer {
 public:
  // Listens and serves from then on; all are borrowed and must outlive the server. Without `tls`,
  // connections are not encrypted. UNAVAILABLE or
  // INVALID_ARGUMENT with the address and the reason when that fails.
  static Result<std::unique_ptr<RestServer>> Listen(const HostPort& address,
                                                    const RestService& service,
                                                    control::EventBus& events, PeerSlots& watchers,
                                                    const RestLimits& limits,
                                                    tls::ServerSessions* tls = nullptr);
  ~RestServer();

  // With the port that was chosen when 0 was asked for.
  const HostPort& address() const;

  // Closes every connection; nothing of them runs any more on return.
  void Stop();

 private:
  class Parts;
  explicit RestServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace fabric::api
