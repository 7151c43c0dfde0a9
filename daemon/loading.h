// Health listener of a controller that loads its state, which takes seconds with thousands of
// nodes: /livez answers 200, /readyz and /healthz 503 with the reason. The other listeners are not
// open yet: agents and clients try again.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/settings.h"
#include "base/status.h"
#include "daemon/transport.h"

namespace fabric {

class Loading {
 public:
  // All are borrowed and must outlive it.
  static Result<std::unique_ptr<Loading>> Listen(const Settings& settings, Transport& transport,
                                                 const Clock& clock);
  ~Loading();  // Ends all connections and releases the address.

 private:
  struct Parts;
  explicit Loading(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace fabric
