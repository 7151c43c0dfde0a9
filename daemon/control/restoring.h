// Why a controller reads the stored state.
#pragma once

#include <cstdint>

namespace fabric::control {

enum class Restoring : std::uint8_t {
  kToLead,    // What ran has ended with the controller before: it is ended, with this reason.
  kToFollow,  // Another controller leads: what runs there goes on, and nothing is written.
};

}  // namespace fabric::control
