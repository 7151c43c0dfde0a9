// How the mesh's thread looks at its queue pairs.
#pragma once

#include "base/clock.h"

namespace fabric::mesh {

struct Sight {
  SteadyTime now;
  bool late = false;  // Nobody looked for longer than was planned: software's times are spoilt.
  bool may_stay_awake = false;  // What that costs may be spent.
};

}  // namespace fabric::mesh
