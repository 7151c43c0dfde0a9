// How many priorities a port can give PFC to.
#pragma once

#include "daemon/fleet/fleet_view.h"

namespace fabric::rules {

struct PfcLimit {
  int priorities = 0;  // 0: not known
  const char* basis = "";
};

// Of a port that carries RoCE and has PFC settings.
PfcLimit PfcLimitOf(const fleet::PortView& port);

// pfc_within_capability reports the port; a profile that lists the priorities has precedence.
bool ExceedsPfcLimit(const fleet::PortView& port);

}  // namespace fabric::rules
