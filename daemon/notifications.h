// Notifier by the settings of fabricd.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/settings.h"
#include "base/status.h"
#include "daemon/notify/notifier.h"

namespace fabric {

// The receivers of the settings. Errors name the setting, and the line of the file.
Result<std::vector<notify::Receiver>> ReadReceivers(const Settings& settings,
                                                    const std::string& controller,
                                                    const Clock& clock);
// Without receivers the notifier does nothing.
Result<std::unique_ptr<notify::Notifier>> OpenNotifier(const Settings& settings,
                                                       const std::string& controller,
                                                       const Clock& clock);

}  // namespace fabric
