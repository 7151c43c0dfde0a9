#include "daemon/oidc_keys.h"

#include <utility>

#include "base/lists.h"
#include "base/log.h"
#include "base/text.h"

namespace fabric {

OidcKeys::OidcKeys(OidcKeysOptions options, OnKeys on_keys)
    : options_(std::move(options)),
      on_keys_(std::move(on_keys)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

void OidcKeys::OnUnknownKey() {
  const MutexLock lock(mutex_);
  wanted_ = true;
  wake_.notify_one();
}

Result<access::KeySet> OidcKeys::FetchKeys() const {
  std::string url = options_.url;
  if (url.empty()) {
    ASSIGN_OR_RETURN(const https::OidcIssuer issuer,
                     https::Discover(options_.issuer, options_.fetch));
    url = issuer.keys_url;
  }
  ASSIGN_OR_RETURN(const std::string json, https::Body(url, options_.fetch));
  return access::KeySet::Parse(json, url);
}

void OidcKeys::Run(const std::stop_token& stop) {
  const SystemClock clock;
  std::string logged;
  SteadyTime fetched_at = clock.Now().steady;
  bool usable = false;
  while (!stop.stop_requested()) {
    auto keys = FetchKeys();
    const SteadyTime now = clock.Now().steady;
    const std::string line =
        keys.ok() ? Format("OIDC keys of {}: {}", options_.issuer, Plural(keys->size(), "key"))
                  : keys.status().message();
    if (std::exchange(logged, line) != line) {
      if (keys.ok())
        log::Info("{}", line);
      else
        log::Error("OIDC keys: {}; the previous keys stay in use", line);
    }
    const bool fetched = keys.ok();
    if (fetched) {
      fetched_at = now;
      usable = true;
      on_keys_(*std::move(keys));
    } else if (usable && now - fetched_at >= options_.age_max) {
      usable = false;
      log::Error("OIDC keys: they are too old to be used: tokens are refused");
      on_keys_(access::KeySet());
    }
    MutexLock lock(mutex_);
    wake_.wait_for(lock, stop, options_.pause, [] { return false; });
    wake_.wait_for(lock, stop, (fetched ? options_.every : options_.after_failure) - options_.pause,
                   [&]() REQUIRES(mutex_) { return wanted_; });
    wanted_ = false;
  }
}

}  // namespace fabric
