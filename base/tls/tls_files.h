// Certificate, key, CA and CRL of a program in PEM files, which are reloaded when they change.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/tls/certificate.h"

namespace fabric::tls {

struct TlsPaths {
  std::string certificate;  // Its chain follows it in the file. Empty: none, like `key`
  std::string key;
  std::string ca;   // Trusted CAs of the other side
  std::string crl;  // Optional
};

// INVALID_ARGUMENT with the missing option, unless a client can use the paths: none of them, `ca`
// (if no certificate is required), or `ca` with `certificate` and `key`.
Status CheckClientPaths(const TlsPaths& paths, bool certificate_required = false);

// Content of the files. Checked: the parts belong together. Contains a secret.
struct TlsMaterial {
  std::string certificate_pem;  // Empty: a client without a certificate
  std::string key_pem;
  std::string ca_pem;
  std::string crl_pem;
  std::optional<Certificate> certificate;  // The first of certificate_pem
};

// FAILED_PRECONDITION, INVALID_ARGUMENT or the error of reading: one line with the path, the
// expected and the seen state.
Result<TlsMaterial> LoadTls(const TlsPaths& paths, WallTime now);

// Validity period of one of the files.
struct FilePeriod {
  std::string what;  // "certificate", "CA", "CRL"
  std::string path;
  WallTime from;
  WallTime to;

  // Less than 14 days and less than a quarter of the period are left: it should have been renewed.
  bool ExpiresSoon(WallTime now) const;
};

// Of the certificate, of the CA that is valid for the longest time, and of the CRL that is out of
// date first.
std::vector<FilePeriod> PeriodsOf(const TlsMaterial& material, const TlsPaths& paths);

// Current files of a program. Thread-safe.
class TlsFiles {
 public:
  static Result<std::unique_ptr<TlsFiles>> Open(TlsPaths paths, WallTime now);

  enum class Change { kNone, kReloaded, kRefused };
  // Looks for changed files. Call it every few seconds. Files are read when they have not changed
  // between two calls, so that a writer can replace them one after the other. kRefused: the new
  // files are invalid, see problem(); the previous content stays in use. Returned once per change.
  // Refused files are read again every minute, because they can become valid.
  Change Check(WallTime now) EXCLUDES(mutex_);

  TlsMaterial material() const EXCLUDES(mutex_);
  // Number of the material: grows with each reload.
  std::uint64_t version() const EXCLUDES(mutex_);
  // Why the files on disk are not in use. OK: they are.
  Status problem() const EXCLUDES(mutex_);
  // Of the certificate in use
  WallTime not_before() const EXCLUDES(mutex_);
  WallTime not_after() const EXCLUDES(mutex_);
  // Those that expire soon.
  std::vector<FilePeriod> Expiring(WallTime now) const EXCLUDES(mutex_);

  const TlsPaths& paths() const { return paths_; }

 private:
  explicit TlsFiles(TlsPaths paths);

  // Identity and time of each file; a changed file differs.
  using Stamp = std::array<std::array<std::int64_t, 4>, 4>;
  Stamp ReadStamp() const;

  const TlsPaths paths_;
  mutable Mutex mutex_;
  TlsMaterial material_ GUARDED_BY(mutex_);
  std::vector<FilePeriod> periods_ GUARDED_BY(mutex_);  // Of the material
  std::uint64_t version_ GUARDED_BY(mutex_) = 1;
  Status problem_ GUARDED_BY(mutex_);
  Stamp loaded_ GUARDED_BY(mutex_);  // Of the last attempt to load
  Stamp seen_ GUARDED_BY(mutex_);    // Of the last check
  WallTime retry_at_ GUARDED_BY(mutex_){};
};

}  // namespace fabric::tls
