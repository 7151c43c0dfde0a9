// Signing keys of fabricd by its settings: reads the file again when it changes. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/ed25519.h"
#include "base/mutex.h"
#include "base/settings.h"
#include "base/status.h"
#include "daemon/files/signing_key_file.h"
#include "daemon/files/watched_file.h"

namespace fabric {

class SigningKeys {
 public:
  static Result<std::unique_ptr<SigningKeys>> Open(const Settings& settings);

  SigningKey current() const EXCLUDES(mutex_);
  // Of the current key and of those before it, so that certificates signed before a rotation can
  // be verified.
  std::string PublicPem() const EXCLUDES(mutex_);

  // The new current key, if the file has changed. A file with errors is logged, and the previous
  // keys stay in use. Call once a second, from one thread.
  std::optional<SigningKey> Check() EXCLUDES(mutex_);
  // Of the thread that calls Check(): why the changed file is not in use. OK: it is.
  const Status& problem() const { return problem_; }

 private:
  SigningKeys(const Settings& settings, KeyFile file);

  const std::string named_;
  const std::string state_;
  WatchedFile watched_;
  Status problem_;
  mutable Mutex mutex_;
  KeyFile file_ GUARDED_BY(mutex_);
};

}  // namespace fabric
