#include "ctl/pki.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/atomic_file.h"
#include "base/input.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/tls/certificate.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kPkiNameBytesMax = 253;
constexpr std::size_t kSpiffeIdBytesMax = 256;  // That fabricd accepts
constexpr std::size_t kPemBytesMax = 1 << 20;
constexpr std::size_t kIndexBytesMax = std::size_t{64} << 20;
constexpr mode_t kSecret = 0600;
constexpr mode_t kPublic = 0644;
constexpr std::size_t kSerialDigitsMax = 40;  // RFC 5280: 20 bytes
constexpr mode_t kFolder = 0700;

Status MakeFolder(const std::string& path) {
  for (const std::string& part : {std::string(std::filesystem::path(path).parent_path()), path})
    if (!part.empty() && mkdir(part.c_str(), kFolder) != 0 && errno != EEXIST)
      return FromErrno(errno, part);
  return {};
}

bool IsRevocable(const PkiEntry& entry, std::string_view kind, std::string_view name,
                 std::string_view serial) {
  return !entry.revoked_at && entry.kind == kind && entry.name == name &&
         (serial.empty() || entry.serial == serial);
}

}  // namespace

Status CheckPkiName(std::string_view what, std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const bool valid = !name.empty() && name.size() <= kPkiNameBytesMax && plain(name.front()) &&
                     std::ranges::all_of(name, [&](char c) {
                       return plain(c) || std::string_view("._-").find(c) != std::string_view::npos;
                     });
  if (valid) return {};
  return {Code::kInvalidArgument,
          Format("{}: expected letters, digits and ._- (at most {}, the first one a letter or a "
                 "digit), saw {}",
                 what, kPkiNameBytesMax, Quoted(name))};
}

Pki::~Pki() {
  if (lock_ >= 0) close(lock_);
}

Pki::Pki(Pki&& other) noexcept
    : folder_(std::move(other.folder_)),
      domain_(std::move(other.domain_)),
      lock_(std::exchange(other.lock_, -1)),
      crl_number_(other.crl_number_),
      ca_(std::move(other.ca_)),
      ca_not_after_(other.ca_not_after_),
      entries_(std::move(other.entries_)) {}

std::string Pki::PathOf(std::string_view file) const {
  return std::filesystem::path(folder_) / file;
}

std::string Pki::FolderOf(const PkiEntry& entry) const {
  return PathOf(entry.kind + "/" + entry.name);
}

std::string Pki::UriOf(const PkiEntry& entry) const {
  return Format("spiffe://{}/{}/{}", domain_, entry.kind, entry.name);
}

Status Pki::Lock() {
  const std::string path = PathOf("lock");
  lock_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kSecret);
  if (lock_ < 0 || flock(lock_, LOCK_EX) != 0) return FromErrno(errno, path);
  return {};
}

Result<Pki> Pki::Create(const std::string& folder, const std::string& domain,
                        const tls::Validity& validity) {
  RETURN_IF_ERROR(CheckPkiName("--domain", domain));
  if (std::ranges::any_of(domain, [](char c) { return c >= 'A' && c <= 'Z'; }))
    return Status(Code::kInvalidArgument,
                  "--domain: expected lower case letters, as in the setting trust-domain of "
                  "fabricd, saw " +
                      Quoted(domain));
  RETURN_IF_ERROR(MakeFolder(folder));
  Pki pki;
  pki.folder_ = folder;
  pki.domain_ = domain;
  RETURN_IF_ERROR(pki.Lock());
  ASSIGN_OR_RETURN(pki.ca_, tls::MakeCa("fabricd CA of " + domain, validity));
  // Never replaces a CA, because nodes trust it.
  const Status made = CreateFileAtomically(pki.PathOf("ca-key.pem"), pki.ca_.key_pem, kSecret);
  if (made.code() == Code::kAlreadyExists)
    return Status(Code::kAlreadyExists,
                  Format("{}: expected a folder without a CA, saw ca-key.pem; a CA is never "
                         "replaced; fabricctl pki show lists its certificates",
                         folder));
  RETURN_IF_ERROR(made);
  RETURN_IF_ERROR(WriteFileAtomically(pki.PathOf("ca.pem"), pki.ca_.certificate_pem, kPublic));
  pki.ca_not_after_ = validity.not_after;
  RETURN_IF_ERROR(pki.WriteCrl(validity.not_before));
  RETURN_IF_ERROR(pki.WriteIndex());
  return pki;
}

Result<Pki> Pki::Open(const std::string& folder) {
  Pki pki;
  pki.folder_ = folder;
  struct stat file {};
  const std::string key = pki.PathOf("ca-key.pem");
  if (stat(key.c_str(), &file) != 0) {
    if (errno != ENOENT) return FromErrno(errno, key);
    return Status(Code::kNotFound,
                  Format("{}: no CA; create one with fabricctl pki init --dir FOLDER", key));
  }
  RETURN_IF_ERROR(pki.Lock());
  RETURN_IF_ERROR(pki.Load());
  return pki;
}

Status Pki::Load() {
  RETURN_IF_ERROR(CheckPrivate(PathOf("ca-key.pem")));
  ASSIGN_OR_RETURN(ca_.key_pem, ReadFile(PathOf("ca-key.pem"), kPemBytesMax));
  ASSIGN_OR_RETURN(ca_.certificate_pem, ReadFile(PathOf("ca.pem"), kPemBytesMax));
  const auto ca = tls::ParseCertificate(ca_.certificate_pem);
  if (!ca.ok()) return ca.status().At(PathOf("ca.pem"));
  ca_not_after_ = ca->not_after;
  ASSIGN_OR_RETURN(const std::string index, ReadFile(PathOf("index.json"), kIndexBytesMax));
  if (const Status read = ReadIndex(index); !read.ok()) return read.At(PathOf("index.json"));
  return {};
}

Result<PkiEntry> Pki::Issue(PkiEntry entry) {
  RETURN_IF_ERROR(CheckPkiName("NAME", entry.name));
  for (const std::string& dns : entry.dns_names) RETURN_IF_ERROR(CheckPkiName("--dns", dns));
  if (const std::size_t bytes = UriOf(entry).size(); bytes > kSpiffeIdBytesMax)
    return Status(Code::kInvalidArgument,
                  Format("NAME: expected a name whose SPIFFE id has at most {} bytes, saw {}",
                         kSpiffeIdBytesMax, bytes));
  if (entry.validity.not_after > ca_not_after_)
    return Status(Code::kInvalidArgument,
                  Format("--lifetime: expected an end before that of the CA ({}), saw {}",
                         tls::ToText(ca_not_after_), tls::ToText(entry.validity.not_after)));
  ASSIGN_OR_RETURN(const tls::KeyAndCertificate made, tls::Issue(ca_,
                                                                 {.common_name = entry.name,
                                                                  .uris = {UriOf(entry)},
                                                                  .dns_names = entry.dns_names,
                                                                  .addresses = entry.addresses,
                                                                  .server = entry.kind == "server"},
                                                                 entry.validity));
  ASSIGN_OR_RETURN(const tls::Certificate facts, tls::ParseCertificate(made.certificate_pem));
  entry.serial = facts.serial;
  const std::string folder = FolderOf(entry);
  RETURN_IF_ERROR(MakeFolder(folder));
  // In the index first: a certificate that is not in it could not be revoked.
  entries_.push_back(entry);
  RETURN_IF_ERROR(WriteIndex());
  RETURN_IF_ERROR(WriteFileAtomically(folder + "/key.pem", made.key_pem, kSecret));
  RETURN_IF_ERROR(WriteFileAtomically(folder + "/cert.pem", made.certificate_pem, kPublic));
  RETURN_IF_ERROR(WriteFileAtomically(folder + "/ca.pem", ca_.certificate_pem, kPublic));
  return entry;
}

Status Pki::List(const std::string& kind, const std::string& name, const std::string& serial,
                 WallTime now) {
  RETURN_IF_ERROR(CheckPkiName("NAME", name));
  const bool hex =
      !serial.empty() && serial.size() <= kSerialDigitsMax &&
      std::ranges::all_of(serial, [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (!hex)
    return {Code::kInvalidArgument, Format("--serial: expected 1 to {} hexadecimal digits, saw {}",
                                           kSerialDigitsMax, Quoted(serial))};
  for (const PkiEntry& entry : entries_)
    if (entry.serial == serial)
      return {Code::kAlreadyExists,
              Format("--unlisted: expected a serial number that is not in the list, saw that of {} "
                     "{}",
                     entry.kind, entry.name)};
  entries_.push_back({.kind = kind,
                      .name = name,
                      .serial = serial,
                      .dns_names = {},
                      .addresses = {},
                      .validity = {.not_before = now, .not_after = ca_not_after_},
                      .revoked_at = {}});
  return {};
}

Result<PkiEntry> Pki::Newest(std::string_view kind, std::string_view name) const {
  const auto at = std::find_if(entries_.rbegin(), entries_.rend(), [&](const PkiEntry& entry) {
    return IsRevocable(entry, kind, name, "");
  });
  if (at != entries_.rend()) return *at;
  Candidates names;
  for (const PkiEntry& entry : entries_)
    if (entry.kind == kind && !entry.revoked_at) names.push_back(entry.name);
  return Status(Code::kNotFound, Format("no certificate of {} {} that is not revoked{}", kind,
                                        Quoted(name), Suggest(name, names)));
}

Result<std::vector<PkiEntry>> Pki::Revoke(std::string_view kind, std::string_view name,
                                          std::string_view serial, WallTime now) {
  std::vector<PkiEntry> revoked;
  for (PkiEntry& entry : entries_) {
    if (!IsRevocable(entry, kind, name, serial)) continue;
    entry.revoked_at = now;
    revoked.push_back(entry);
  }
  if (revoked.empty()) {
    RETURN_IF_ERROR(Newest(kind, name).status());
    return Status(Code::kNotFound, Format("no certificate of {} {} with the serial {}", kind,
                                          Quoted(name), Quoted(serial)));
  }
  RETURN_IF_ERROR(WriteCrl(now));
  RETURN_IF_ERROR(WriteIndex());
  return revoked;
}

Status Pki::WriteCrl(WallTime now) {
  std::vector<tls::RevokedSerial> revoked;
  for (const PkiEntry& entry : entries_)
    if (entry.revoked_at) revoked.push_back({.serial = entry.serial, .at = *entry.revoked_at});
  // Valid as long as the CA: a CRL that is out of date would lock all agents out.
  ASSIGN_OR_RETURN(
      const std::string crl,
      tls::MakeCrl(ca_, revoked, ++crl_number_, {.not_before = now, .not_after = ca_not_after_}));
  return WriteFileAtomically(PathOf("crl.pem"), crl, kPublic);
}

}  // namespace fabric::ctl
