#include "daemon/api/health.h"

#include <utility>

#include "base/text.h"

namespace fabric::api {

HttpResponse Health::Answer(Duration limit, SteadyTime now) const {
  const Duration age = now - turned_at_.load();
  HttpResponse response{.content_type = "text/plain", .body = "ok\n"};
  if (age <= limit) return response;
  response.status = 503;
  response.body = Format("no turn of the controller for {:.1f} s, expected one within {:.0f} s\n",
                         std::chrono::duration<double>(age).count(),
                         std::chrono::duration<double>(limit).count());
  return response;
}

std::vector<Page> HealthPages(const Health& health, const Clock& clock,
                              std::function<std::string()> degraded) {
  const auto ready = [&] { return health.Ready(clock.Now().steady); };
  const auto ready_or_degraded = [ready, degraded = std::move(degraded)] {
    HttpResponse response = ready();
    if (response.status != 200 || !degraded) return response;
    if (const std::string reason = degraded(); !reason.empty())
      response.body = "degraded: " + reason + "\n";
    return response;
  };
  return {{"/healthz", ready},
          {"/readyz", ready_or_degraded},
          {"/livez", [&] { return health.Alive(clock.Now().steady); }}};
}

}  // namespace fabric::api
