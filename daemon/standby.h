// A controller that does not lead: its listeners answer reads of the stored state (follower.h), and
// refuse other calls and agents with the address of the leader.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/settings.h"
#include "base/status.h"
#include "daemon/access/gate.h"
#include "daemon/control/options.h"
#include "daemon/files/addresses_file.h"
#include "daemon/leadership.h"
#include "daemon/transport.h"

namespace fabric {

class Standby {
 public:
  // All but `options` are borrowed and must outlive it.
  static Result<std::unique_ptr<Standby>> Listen(const Settings& settings,
                                                 const Leadership& leadership, access::Gate& gate,
                                                 Transport& transport, const Clock& clock,
                                                 control::ControllerOptions options);
  ~Standby();  // Ends all connections and releases the addresses.

  Addresses addresses() const;
  void Tick();  // Call every second.

 private:
  struct Parts;
  explicit Standby(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace fabric
