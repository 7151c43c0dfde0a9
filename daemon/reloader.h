// Reload of what fabricd reads at start-up and can change while it runs: profile, custom rules, log
// level. TLS files, tokens and role bindings are reloaded when they change.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/settings.h"
#include "base/status.h"
#include "daemon/control/options.h"
#include "fabric/v1/operate.pb.h"

namespace fabric {

// The profile, its places and the custom rules of the settings. Errors name the setting and the
// line.
Result<control::Policy> ReadPolicy(const Settings& settings);

// Thread-safe.
class Reloader {
 public:
  using Use = std::function<void(control::Policy policy, Moment now)>;
  // `arguments`: of the command line. `use` gets what was read without an error.
  Reloader(std::vector<std::string> arguments, const Settings& settings, Use use);

  // Reads the settings file again, and the files that it names. An error changes nothing.
  Result<v1::ReloadResponse> Reload(Moment now);
  // Checks the profile, replaces the file of the setting `profile`, and reloads.
  Result<v1::ReloadResponse> ApplyProfile(const v1::ApplyProfileRequest& request, Moment now);

  // Answers the requests Reload and ApplyProfile. No value: another request.
  std::optional<Status> Answer(const google::protobuf::Message& request,
                               google::protobuf::Message& response, Moment now);

 private:
  Result<v1::ReloadResponse> ReloadLocked(Moment now) REQUIRES(mutex_);
  Result<Settings> ReadSettings() const;

  const std::vector<std::string> arguments_;
  const Settings started_;      // At start-up
  const std::string webhooks_;  // Contents of the file of webhooks at start-up
  const Use use_;
  Mutex mutex_;
};

}  // namespace fabric
