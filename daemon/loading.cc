#include "daemon/loading.h"

#include <chrono>
#include <utility>

#include "base/text.h"
#include "daemon/http_fronts.h"

namespace fabric {

struct Loading::Parts {
  control::EventBus events{0};
  api::PeerSlots watchers{"event watchers", {.total = 1, .per_peer = 1}};
  HttpFront health;
};

Loading::Loading(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Loading::~Loading() {
  parts_->health.server->Stop();
}

Result<std::unique_ptr<Loading>> Loading::Listen(const Settings& settings, Transport& transport,
                                                 const Clock& clock) {
  const auto not_ready = [&clock, since = clock.Now().steady] {
    const std::chrono::duration<double> age = clock.Now().steady - since;
    return api::HttpResponse{.status = 503,
                             .content_type = "text/plain",
                             .body = Format("loading the state for {:.1f} s\n", age.count())};
  };
  const auto alive = [] { return api::HttpResponse{.content_type = "text/plain", .body = "ok\n"}; };
  auto parts = std::make_unique<Parts>();
  ASSIGN_OR_RETURN(
      parts->health,
      ListenHealth(HealthAddress(settings),
                   {{"/healthz", not_ready}, {"/readyz", not_ready}, {"/livez", alive}},
                   parts->events, parts->watchers, transport.http()));
  return std::unique_ptr<Loading>(new Loading(std::move(parts)));
}

}  // namespace fabric
