// Compiled patterns. Creation takes some milliseconds: create once.
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
