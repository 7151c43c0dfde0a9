// All that has to be compiled before logs can be read; some milliseconds, so make it once.
#pragma once

#include "daemon/explain/matcher.h"
#include "daemon/explain/origin.h"

namespace fabric::explain {

// Not thread-safe, like Matcher.
struct Patterns {
  Matcher matcher;
  OriginReader origins;
};

}  // namespace fabric::explain
