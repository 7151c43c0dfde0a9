// Decodes the snapshots of InfiniBand subnets that agents send, on the thread of its caller: a
// snapshot of a large subnet takes half a second.
#pragma once

#include <map>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/control/controller.h"
#include "daemon/files/subnet_files.h"
#include "proto/wire_check.h"

namespace fabric {

class LiveSubnets {
 public:
  LiveSubnets();

  // Takes the news from the controller. True if `subnets` changed.
  bool Update(control::Controller& controller, SubnetFiles& subnets, Moment now);

 private:
  Result<control::SubnetContent> Decode(const control::SubnetNews& news, SubnetFiles& subnets);

  const WireCheck check_;
  std::map<std::string, std::string> encoded_;  // The last snapshots: prefixes of the next ones
  std::map<std::string, bool> settled_;         // Nothing changed between the last two readings.
};

}  // namespace fabric
