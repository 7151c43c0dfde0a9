// The store of fabricd.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/settings.h"
#include "base/status.h"
#include "daemon/leadership.h"
#include "daemon/store/store.h"

namespace fabric {

// The SQLite file, or PostgreSQL with the term of `leadership`, which has one. Logs what was
// damaged.
Result<std::unique_ptr<store::Store>> OpenStore(const Settings& settings, Leadership* leadership,
                                                WallTime now);

// Copies the state of the setting copy-state-from and says so on standard output.
Status CopyStateFrom(const Settings& settings);

}  // namespace fabric
