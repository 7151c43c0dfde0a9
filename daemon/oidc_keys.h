// Keys of an OIDC issuer, fetched over HTTPS by a thread of its own: at the start, every few
// minutes, and when a token names a key that is not known.
#pragma once

#include <condition_variable>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/https/oidc_issuer.h"
#include "base/mutex.h"
#include "base/status.h"
#include "daemon/access/key_set.h"

namespace fabric {

struct OidcKeysOptions {
  std::string issuer;
  std::string url;  // Of the keys; empty: the issuer's discovery document names it
  https::Fetch fetch;
  Duration every = std::chrono::minutes(5);
  Duration after_failure = std::chrono::seconds(30);
  // Minimum time between two fetches.
  Duration pause = std::chrono::seconds(10);
  // Keys that could not be fetched again for this time are not used any more.
  Duration age_max = std::chrono::hours(24);
};

class OidcKeys {
 public:
  // `on_keys` gets each set that was fetched, and an empty one when the last one is too old.
  using OnKeys = std::function<void(access::KeySet keys)>;
  OidcKeys(OidcKeysOptions options, OnKeys on_keys);

  // A token names a key that is not known: it may be new.
  void OnUnknownKey() EXCLUDES(mutex_);

 private:
  void Run(const std::stop_token& stop);
  Result<access::KeySet> FetchKeys() const;

  const OidcKeysOptions options_;
  const OnKeys on_keys_;
  Mutex mutex_;
  std::condition_variable_any wake_;
  bool wanted_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // Last: uses all of the above
};

}  // namespace fabric
