// Where in the fabric ports are: as they hear it by LLDP, else as the profile says. Pure.
#pragma once

#include <utility>

#include "daemon/fleet/fleet_view.h"
#include "daemon/profile/places.h"

namespace fabric::fleet {

using profile::Site;

class Sites {
 public:
  Sites() = default;  // What is heard, and nothing else.
  explicit Sites(profile::Places places) : places_(std::move(places)) {}

  // The leaf is the switch that the port's neighbour is, by its system name, else by its chassis
  // id; the one that the profile names where nobody was heard. The pod is always the profile's.
  Site Of(const PortView& port) const;

 private:
  profile::Places places_;
};

}  // namespace fabric::fleet
