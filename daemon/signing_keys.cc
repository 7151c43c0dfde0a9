#include "daemon/signing_keys.h"

#include <utility>

#include "base/jws.h"
#include "base/lists.h"
#include "base/log.h"
#include "base/text.h"

namespace fabric {

SigningKeys::SigningKeys(const Settings& settings, KeyFile file)
    : named_(settings.Text("signing-key")),
      state_(settings.Text("state")),
      watched_(file.path),
      file_(std::move(file)) {
  watched_.Note();
}

Result<std::unique_ptr<SigningKeys>> SigningKeys::Open(const Settings& settings) {
  auto file = LoadSigningKey(settings.Text("signing-key"), settings.Text("state"));
  if (!file.ok()) return file.status().In("signing-key");
  log::Info("signing certificates with {}{}, key {}", file->path, file->made ? " (new)" : "",
            KeyId(file->keys.front().Public()));
  return std::unique_ptr<SigningKeys>(new SigningKeys(settings, *std::move(file)));
}

SigningKey SigningKeys::current() const {
  const MutexLock lock(mutex_);
  return file_.keys.front();
}

std::string SigningKeys::PublicPem() const {
  const MutexLock lock(mutex_);
  return file_.PublicPem();
}

std::optional<SigningKey> SigningKeys::Check() {
  if (!watched_.Changed()) return std::nullopt;
  auto file = LoadSigningKey(named_, state_);
  problem_ = file.status();
  if (!file.ok()) {
    log::Error("signing-key: the previous keys stay in use: {}", file.status().message());
    return std::nullopt;
  }
  const MutexLock lock(mutex_);
  file_ = *std::move(file);
  log::Info("signing certificates with {}: {}, key {}", file_.path,
            Plural(file_.keys.size(), "key"), KeyId(file_.keys.front().Public()));
  return file_.keys.front();
}

}  // namespace fabric
