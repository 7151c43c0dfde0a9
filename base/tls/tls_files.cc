#include "base/tls/tls_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/atomic_file.h"
#include "base/input.h"
#include "base/text.h"
#include "base/tls/openssl.h"

namespace fabric::tls {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;
constexpr Duration kRetryEvery = std::chrono::minutes(1);
constexpr Duration kExpiryWarning = std::chrono::hours(14 * 24);

// The error names the setting.
Result<std::string> ReadTlsFile(const std::string& path, std::string_view setting) {
  auto text = ReadFile(path, kFileBytesMax);
  if (text.ok()) return text;
  return Status(text.status().code(), Format("{}; expected the file of the setting {}",
                                             text.status().message(), setting));
}

Status LoadIdentity(const TlsPaths& paths, WallTime now, TlsMaterial& out) {
  ASSIGN_OR_RETURN(out.certificate_pem, ReadTlsFile(paths.certificate, "tls-cert"));
  auto certificate = ParseCertificate(out.certificate_pem);
  if (!certificate.ok()) return certificate.status().At(paths.certificate);
  if (const Status valid = CheckValidity(*certificate, now); !valid.ok())
    return valid.At(paths.certificate);
  out.certificate = *std::move(certificate);

  ASSIGN_OR_RETURN(out.key_pem, ReadTlsFile(paths.key, "tls-key"));
  RETURN_IF_ERROR(CheckPrivate(paths.key));
  const Owned<EVP_PKEY> key = ReadPrivateKey(out.key_pem);
  if (key == nullptr)
    return Status(Code::kInvalidArgument,
                  Format("expected a private key in PEM without passphrase, saw {}",
                         KindOfPem(out.key_pem)))
        .At(paths.key);
  const auto chain = ReadCertificates(out.certificate_pem);
  // One file can have both: each part has only its own.
  out.key_pem = KeyPem(*key);
  out.certificate_pem.clear();
  for (const auto& one : chain) out.certificate_pem += CertificatePem(*one);
  if (X509_check_private_key(chain.front().get(), key.get()) == 1) return {};
  (void)TakeOpenSslError();
  return Status(Code::kFailedPrecondition,
                Format("expected the private key of the certificate {} ({}), saw another key",
                       paths.certificate, NamesOf(*out.certificate)))
      .At(paths.key);
}

Status LoadCa(const TlsPaths& paths, WallTime now, TlsMaterial& out) {
  ASSIGN_OR_RETURN(out.ca_pem, ReadTlsFile(paths.ca, "tls-ca"));
  const auto all = ParseCertificates(out.ca_pem);
  if (!all.ok()) return all.status().At(paths.ca);
  Status invalid;
  for (const Certificate& ca : *all) {
    if (!ca.authority)
      return Status(Code::kInvalidArgument,
                    Format("expected certificates of CAs, saw one of {}", NamesOf(ca)))
          .At(paths.ca);
    if (invalid.ok()) invalid = CheckValidity(ca, now);
  }
  // During a change of the CA, the previous one can expire.
  const bool valid =
      std::ranges::any_of(*all, [&](const Certificate& ca) { return CheckValidity(ca, now).ok(); });
  return valid ? Status() : invalid.At(paths.ca);
}

Status LoadCrl(const TlsPaths& paths, TlsMaterial& out) {
  ASSIGN_OR_RETURN(out.crl_pem, ReadTlsFile(paths.crl, "tls-crl"));
  const auto crls = ReadCrls(out.crl_pem);
  if (crls.empty())
    return Status(Code::kInvalidArgument,
                  Format("expected a CRL in PEM, saw {}", KindOfPem(out.crl_pem)))
        .At(paths.crl);
  const auto cas = ReadCertificates(out.ca_pem);
  for (const auto& crl : crls) {
    const bool trusted = std::ranges::any_of(cas, [&](const Owned<X509>& ca) {
      return X509_CRL_verify(crl.get(), X509_get0_pubkey(ca.get())) == 1;
    });
    if (trusted) continue;
    (void)TakeOpenSslError();
    return Status(Code::kFailedPrecondition,
                  Format("expected a CRL signed by a CA of {}, saw one of {}", paths.ca,
                         TextOf(X509_CRL_get_issuer(crl.get()))))
        .At(paths.crl);
  }
  return {};
}

}  // namespace

bool FilePeriod::ExpiresSoon(WallTime now) const {
  const Duration left = to - now;
  return left < kExpiryWarning && left < (to - from) / 4;
}

std::vector<FilePeriod> PeriodsOf(const TlsMaterial& material, const TlsPaths& paths) {
  std::vector<FilePeriod> periods;
  if (const auto& own = material.certificate)
    periods.push_back({.what = "certificate",
                       .path = paths.certificate,
                       .from = own->not_before,
                       .to = own->not_after});
  const auto cas = ParseCertificates(material.ca_pem);
  const auto last = [](const Certificate& a, const Certificate& b) {
    return a.not_after < b.not_after;
  };
  if (cas.ok()) {
    const Certificate& ca = *std::ranges::max_element(*cas, last);
    periods.push_back({.what = "CA", .path = paths.ca, .from = ca.not_before, .to = ca.not_after});
  }
  std::optional<FilePeriod> first;
  for (const auto& crl : ReadCrls(material.crl_pem)) {
    const ASN1_TIME* const next = X509_CRL_get0_nextUpdate(crl.get());
    if (next == nullptr || (first && first->to <= TimeOf(next))) continue;
    first = {.what = "CRL",
             .path = paths.crl,
             .from = TimeOf(X509_CRL_get0_lastUpdate(crl.get())),
             .to = TimeOf(next)};
  }
  if (first) periods.push_back(*std::move(first));
  return periods;
}

Status CheckClientPaths(const TlsPaths& paths, bool certificate_required) {
  const bool any = !paths.certificate.empty() || !paths.key.empty() || !paths.ca.empty();
  const auto missing = [](std::string_view option, std::string_view because) {
    return Status(Code::kInvalidArgument,
                  Format("--{}: expected a file, because --{} is set, saw none", option, because));
  };
  if (!any) return {};
  if (paths.ca.empty())
    return missing("tls-ca", paths.certificate.empty() ? "tls-key" : "tls-cert");
  if (paths.certificate.empty() && !paths.key.empty()) return missing("tls-cert", "tls-key");
  if (paths.certificate.empty() && certificate_required) return missing("tls-cert", "tls-ca");
  if (paths.key.empty() && !paths.certificate.empty()) return missing("tls-key", "tls-cert");
  return {};
}

Result<TlsMaterial> LoadTls(const TlsPaths& paths, WallTime now) {
  TlsMaterial out;
  if (!paths.certificate.empty()) RETURN_IF_ERROR(LoadIdentity(paths, now, out));
  RETURN_IF_ERROR(LoadCa(paths, now, out));
  if (!paths.crl.empty()) RETURN_IF_ERROR(LoadCrl(paths, out));
  return out;
}

Result<std::unique_ptr<TlsFiles>> TlsFiles::Open(TlsPaths paths, WallTime now) {
  std::unique_ptr<TlsFiles> files(new TlsFiles(std::move(paths)));
  ASSIGN_OR_RETURN(TlsMaterial material, LoadTls(files->paths_, now));
  const MutexLock lock(files->mutex_);
  files->periods_ = PeriodsOf(material, files->paths_);
  files->material_ = std::move(material);
  return files;
}

TlsFiles::TlsFiles(TlsPaths paths)
    : paths_(std::move(paths)), loaded_(ReadStamp()), seen_(loaded_) {}

TlsFiles::Change TlsFiles::Check(WallTime now) {
  const Stamp stamp = ReadStamp();
  bool again = false;
  {
    const MutexLock lock(mutex_);
    const bool still = stamp == std::exchange(seen_, stamp);
    again = stamp == loaded_;
    // Files that were refused for their time can be used later.
    const bool retry = !problem_.ok() && (now >= retry_at_ || now < retry_at_ - kRetryEvery);
    if (!still || (again && !retry)) return Change::kNone;
    loaded_ = stamp;
    retry_at_ = now + kRetryEvery;
  }
  auto material = LoadTls(paths_, now);
  const MutexLock lock(mutex_);
  problem_ = material.status();
  if (!material.ok()) return again ? Change::kNone : Change::kRefused;
  material_ = *std::move(material);
  periods_ = PeriodsOf(material_, paths_);
  ++version_;
  return Change::kReloaded;
}

TlsMaterial TlsFiles::material() const {
  const MutexLock lock(mutex_);
  return material_;
}

std::uint64_t TlsFiles::version() const {
  const MutexLock lock(mutex_);
  return version_;
}

Status TlsFiles::problem() const {
  const MutexLock lock(mutex_);
  return problem_;
}

WallTime TlsFiles::not_before() const {
  const MutexLock lock(mutex_);
  return material_.certificate ? material_.certificate->not_before : WallTime();
}

std::vector<FilePeriod> TlsFiles::Expiring(WallTime now) const {
  const MutexLock lock(mutex_);
  std::vector<FilePeriod> soon;
  std::ranges::copy_if(periods_, std::back_inserter(soon),
                       [&](const FilePeriod& period) { return period.ExpiresSoon(now); });
  return soon;
}

WallTime TlsFiles::not_after() const {
  const MutexLock lock(mutex_);
  return material_.certificate ? material_.certificate->not_after : WallTime();
}

TlsFiles::Stamp TlsFiles::ReadStamp() const {
  Stamp stamp{};
  const std::array<const std::string*, 4> paths = {&paths_.certificate, &paths_.key, &paths_.ca,
                                                   &paths_.crl};
  for (std::size_t n = 0; n < paths.size(); ++n) {
    struct stat file {};
    if (paths[n]->empty() || stat(paths[n]->c_str(), &file) != 0) continue;
    stamp[n] = {static_cast<std::int64_t>(file.st_ino), static_cast<std::int64_t>(file.st_size),
                file.st_mtim.tv_sec * 1'000'000'000 + file.st_mtim.tv_nsec,
                file.st_ctim.tv_sec * 1'000'000'000 + file.st_ctim.tv_nsec};
  }
  return stamp;
}

}  // namespace fabric::tls
