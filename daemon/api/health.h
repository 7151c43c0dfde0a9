// Liveness and readiness of the controller: the time since its last turn. Thread-safe; never waits.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "base/clock.h"
#include "daemon/api/rest/rest_service.h"

namespace fabric::api {

class Health {
 public:
  // Without a turn for longer, the controller is not ready, or not alive.
  static constexpr Duration kReadyWithin = std::chrono::seconds(5);
  static constexpr Duration kAliveWithin = std::chrono::seconds(60);

  explicit Health(SteadyTime now) : turned_at_(now) {}

  void OnTurn(SteadyTime now) { turned_at_ = now; }

  // 200, or 503 with the time since the last turn.
  HttpResponse Ready(SteadyTime now) const { return Answer(kReadyWithin, now); }
  HttpResponse Alive(SteadyTime now) const { return Answer(kAliveWithin, now); }

 private:
  HttpResponse Answer(Duration limit, SteadyTime now) const;

  std::atomic<SteadyTime> turned_at_;
};

// /healthz and /readyz, and /livez. All are borrowed. `degraded` says why the controller works with
// less than its full service; /readyz then shows it with status 200.
std::vector<Page> HealthPages(const Health& health, const Clock& clock,
                              std::function<std::string()> degraded = {});

}  // namespace fabric::api
