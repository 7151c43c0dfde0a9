// What operators set of the mesh.
#pragma once

#include <cstdint>

namespace fabric::control {

struct MeshSettings {
  bool on = false;
  std::uint32_t paths = 16;              // Of equal cost between two leaves
  std::uint32_t pings_per_second = 100;  // Of each node
};

}  // namespace fabric::control
