// Small CA in a folder, for sites without a CA of their own:
//   ca.pem, ca-key.pem, crl.pem   the CA and the revoked certificates
//   index.json                    the issued certificates
//   KIND/NAME/                    cert.pem, key.pem and ca.pem of a certificate, to copy to its
//   owner
// Keys and the index have mode 0600, the folders 0700.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/tls/issuer.h"

namespace fabric::ctl {

inline constexpr std::string_view kPkiKinds = "node|server|viewer|operator|admin|metrics";

struct PkiEntry {
  std::string kind;  // One of kPkiKinds
  std::string name;
  std::string serial;
  std::vector<std::string> dns_names;
  std::vector<std::string> addresses;
  tls::Validity validity;
  std::optional<WallTime> revoked_at;
};

// INVALID_ARGUMENT unless the name can be part of a SPIFFE id and a DNS name: letters, digits and
// "._-", at most 253; it starts with a letter or a digit.
Status CheckPkiName(std::string_view what, std::string_view name);

// One process at a time: others wait. Errors name the file.
class Pki {
 public:
  // ALREADY_EXISTS if the folder has a CA.
  static Result<Pki> Create(const std::string& folder, const std::string& domain,
                            const tls::Validity& validity);
  // NOT_FOUND, with the command that makes one, if the folder has no CA.
  static Result<Pki> Open(const std::string& folder);
  ~Pki();
  Pki(Pki&& other) noexcept;
  Pki& operator=(Pki&&) = delete;

  // Writes the files of the certificate; replaces those of an older one with the same name.
  // `entry` has no serial yet. The certificate ends with the CA at the latest: INVALID_ARGUMENT.
  Result<PkiEntry> Issue(PkiEntry entry);

  // Marks the certificates of `kind` and `name`, or only that with `serial`, as revoked, and writes
  // the CRL. Returns them. NOT_FOUND if none is left to revoke.
  Result<std::vector<PkiEntry>> Revoke(std::string_view kind, std::string_view name,
                                       std::string_view serial, WallTime now);

  // Adds a certificate that another program signed with the CA, so that it can be revoked. Its
  // dates are not known: it counts as valid as long as the CA. INVALID_ARGUMENT unless the serial
  // number is hexadecimal, ALREADY_EXISTS if the list has it.
  Status List(const std::string& kind, const std::string& name, const std::string& serial,
              WallTime now);

  // The newest certificate that is not revoked. NOT_FOUND, with similar names.
  Result<PkiEntry> Newest(std::string_view kind, std::string_view name) const;

  std::string FolderOf(const PkiEntry& entry) const;
  std::string UriOf(const PkiEntry& entry) const;  // "spiffe://example.org/node/n1"
  const std::vector<PkiEntry>& entries() const { return entries_; }
  const std::string& folder() const { return folder_; }
  const std::string& domain() const { return domain_; }
  WallTime ca_not_after() const { return ca_not_after_; }

 private:
  Pki() = default;
  Status Lock();
  Status Load();
  Status ReadIndex(const std::string& text);
  Status WriteIndex() const;
  Status WriteCrl(WallTime now);
  std::string PathOf(std::string_view file) const;

  std::string folder_;
  std::string domain_;
  int lock_ = -1;
  std::uint64_t crl_number_ = 0;
  tls::KeyAndCertificate ca_;
  WallTime ca_not_after_{};
  std::vector<PkiEntry> entries_;  // Oldest first
};

}  // namespace fabric::ctl
