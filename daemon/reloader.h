// Reload of what fabricd reads at start-up and can change while it runs: profile, custom rules, log
// level, receivers of notifications. TLS files, tokens and role bindings are reloaded when they
// change.
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
#include "daemon/notify/notifier.h"
#include "fabric/v1/operate.pb.h"

namespace fabric {

// The profile, its places and the custom rules of the settings. Errors name the setting and the
// line.
Result<control::Policy> ReadPolicy(const Settings& settings);

// Thread-safe.
class Reloader {
 public:
  struct Loaded {
    control::Policy policy;
    std::vector<notify::Receiver> receivers;
  };
  using ReceiversOf = std::function<Result<std::vector<notify::Receiver>>(const Settings&)>;
  using Use = std::function<void(Loaded loaded, Moment now)>;
  // `arguments`: of the command line. `use` gets what was read without an error.
  Reloader(std::vector<std::string> arguments, const Settings& settings, ReceiversOf receivers_of,
           Use use);

  // Reads the settings file again, and the files that it names. An error changes nothing.
  Result<v1::ReloadResponse> Reload(Moment now);
  // Checks the profile, replaces the file of the setting `profile`, and reloads.
  Result<v1::ReloadResponse> ApplyProfile(const v1::ApplyProfileRequest& request, Moment now);

  // The settings in use, without secrets: those of the start, and those that Reload() applied.
  v1::EffectiveSettings InUse();

  // Answers the requests Reload, ApplyProfile and GetSettings. No value: another request.
  std::optional<Status> Answer(const google::protobuf::Message& request,
                               google::protobuf::Message& response, Moment now);

 private:
  Result<v1::ReloadResponse> ReloadLocked(Moment now) REQUIRES(mutex_);
  Result<Settings> ReadSettings() const;

  const std::vector<std::string> arguments_;
  const Settings started_;  // At start-up
  const ReceiversOf receivers_of_;
  const Use use_;
  Mutex mutex_;
  Settings loaded_ GUARDED_BY(mutex_);  // By the last Reload()
};

}  // namespace fabric
