#include "daemon/site_access.h"

#include <algorithm>
#include <utility>

#include "base/atomic_file.h"
#include "base/https/client.h"
#include "base/input.h"
#include "base/lists.h"
#include "base/log.h"
#include "base/text.h"
#include "daemon/access/access_file.h"
#include "daemon/store/recovery.h"
#include "proto/roles.h"

namespace fabric {
namespace {

Result<std::vector<v1::Role>> RolesIn(const Settings& settings, std::string_view setting) {
  const std::vector<std::string> words = settings.Words(setting);
  if (words.size() == 1 && words.front() == "none") return std::vector<v1::Role>();
  return ParseRoles(words);
}

constexpr std::size_t kCaBytesMax = 1 << 20;

bool IsUrl(std::string_view text) {
  return text.find("://") != text.npos;
}

}  // namespace

std::string AuditPath(const Settings& settings) {
  return settings.Has("audit-log") ? settings.Text("audit-log")
                                   : settings.Text("state") + std::string(store::kAuditSuffix);
}

SiteAccess::SiteAccess(const Settings& settings, std::vector<v1::Role> loopback_roles)
    : authenticator_(settings.Text("trust-domain"), std::move(loopback_roles)),
      tokens_(settings.Text("tokens")),
      bindings_(settings.Text("role-bindings")),
      oidc_keys_(settings.Text("oidc-keys")),
      oidc_{.issuer = settings.Text("oidc-issuer"),
            .audience = settings.Text("oidc-audience"),
            .name_claim = settings.Text("oidc-name-claim"),
            .groups_claim = settings.Text("oidc-groups-claim")} {}

Result<std::unique_ptr<SiteAccess>> SiteAccess::Open(const Settings& settings, const Clock& clock,
                                                     access::AuditLog::OnEntry on_entry) {
  RETURN_IF_ERROR(access::CheckTrustDomain(settings.Text("trust-domain")).In("trust-domain"));
  auto roles = RolesIn(settings, "loopback-roles");
  if (!roles.ok()) return roles.status().In("loopback-roles");
  std::unique_ptr<SiteAccess> site(new SiteAccess(settings, *std::move(roles)));
  if (settings.Text("tls") == "off") {
    auto plain = RolesIn(settings, "plain-roles");
    if (!plain.ok()) return plain.status().In("plain-roles");
    site->authenticator_.SetPlainRoles(*std::move(plain));
  }
  site->tokens_.Note();
  site->bindings_.Note();
  if (!site->tokens_.path().empty()) RETURN_IF_ERROR(site->ReadTokens().status().In("tokens"));
  if (!site->bindings_.path().empty())
    RETURN_IF_ERROR(site->ReadBindings().status().In("role-bindings"));
  RETURN_IF_ERROR(site->SetUpOidc(settings));
  auto audit = access::AuditLog::Open(AuditPath(settings), settings.Number("audit-entries"),
                                      std::move(on_entry));
  if (!audit.ok()) return audit.status().In("audit-log");
  site->audit_ = *std::move(audit);
  site->gate_ = std::make_unique<access::Gate>(site->authenticator_, *site->audit_, clock);
  auto limits = access::RoleLimits::Parse(settings.Words("role-limits"));
  if (!limits.ok()) return limits.status().In("role-limits");
  site->gate_->SetLimits(*std::move(limits));
  return site;
}

void SiteAccess::Tick() {
  if (tokens_.Changed()) Note("tokens", ReadTokens());
  if (bindings_.Changed()) Note("role-bindings", ReadBindings());
  if (!fetched_keys_ && !oidc_.issuer.empty() && oidc_keys_.Changed())
    Note("oidc-keys", ReadOidcKeys());
  const Status status = gate_->Flush();
  if (!status.ok() && logged_.ok()) log::Error("changes are refused: {}", status.message());
  if (status.ok() && !logged_.ok()) log::Info("the audit log is complete again");
  logged_ = status;
}

void SiteAccess::Stop() {
  const Status status = gate_->Flush(true);
  if (!status.ok()) log::Error("entries of the audit log are lost: {}", status.message());
}

void SiteAccess::Note(const std::string& setting, const Result<std::string>& read) {
  refused_.erase(setting);
  if (read.ok()) return log::Info("{}", *read);
  refused_[setting] = read.status().message();
  log::Error("the previous content stays in use: {}", read.status().message());
}

Result<std::string> SiteAccess::ReadTokens() {
  const std::string& path = tokens_.path();
  RETURN_IF_ERROR(CheckPrivate(path, "a token file"));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, access::kAccessFileBytesMax));
  ASSIGN_OR_RETURN(access::TokenList tokens, access::TokenList::Parse(text, path));
  std::string line = Format("{}: {}", path, Plural(tokens.size(), "token"));
  authenticator_.SetTokens(std::move(tokens));
  return line;
}

// The issuer and the audience, or none of them. The keys are in a file, or at a URL.
Status SiteAccess::SetUpOidc(const Settings& settings) {
  const std::string& keys = oidc_keys_.path();
  const std::pair<std::string_view, bool> all[] = {{"oidc-issuer", !oidc_.issuer.empty()},
                                                   {"oidc-audience", !oidc_.audience.empty()}};
  if (oidc_.issuer.empty() && oidc_.audience.empty() && keys.empty()) return {};
  for (const auto& [name, is_set] : all)
    if (!is_set)
      return {Code::kInvalidArgument,
              Format("{}: expected a value, because other settings of OIDC have one", name)};
  if (!keys.empty() && !IsUrl(keys)) {
    oidc_keys_.Note();
    return ReadOidcKeys().status().In("oidc-keys");
  }
  const std::pair<const char*, const std::string&> urls[] = {{"oidc-issuer", oidc_.issuer},
                                                             {"oidc-keys", keys}};
  for (const auto& [name, url] : urls)
    if (const auto parsed = https::ParseUrl(url); !url.empty() && !parsed.ok())
      return parsed.status().In(name);
  https::Limits limits{.ca_pem = {}, .bytes_max = access::kKeySetBytesMax};
  if (settings.Has("oidc-ca")) {
    auto ca = ReadFile(settings.Text("oidc-ca"), kCaBytesMax);
    if (!ca.ok()) return ca.status().In("oidc-ca");
    limits.ca_pem = *std::move(ca);
  }
  authenticator_.SetOidc(oidc_);
  authenticator_.SetOnUnknownKey([this] {
    if (fetched_keys_) fetched_keys_->OnUnknownKey();
  });
  fetched_keys_ = std::make_unique<OidcKeys>(
      OidcKeysOptions{.issuer = oidc_.issuer,
                      .url = keys,
                      .fetch = [limits](const std::string& url) -> Result<https::Answer> {
                        ASSIGN_OR_RETURN(const https::Url parsed, https::ParseUrl(url));
                        return https::Get(parsed, limits);
                      }},
      [this](access::KeySet fetched) {
        access::OidcIssuer issuer = oidc_;
        issuer.keys = std::move(fetched);
        authenticator_.SetOidc(std::move(issuer));
      });
  return {};
}

Result<std::string> SiteAccess::ReadOidcKeys() {
  const std::string& path = oidc_keys_.path();
  RETURN_IF_ERROR(
      CheckMode(path, kNotWritable, "a file that other users cannot write (mode 0600 to 0644)"));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, access::kKeySetBytesMax));
  access::OidcIssuer issuer = oidc_;
  ASSIGN_OR_RETURN(issuer.keys, access::KeySet::Parse(text, path));
  std::string line = Format("{}: {}", path, Plural(issuer.keys.size(), "key"));
  authenticator_.SetOidc(std::move(issuer));
  return line;
}

Result<std::string> SiteAccess::ReadBindings() {
  const std::string& path = bindings_.path();
  RETURN_IF_ERROR(
      CheckMode(path, kNotWritable, "a file that other users cannot write (mode 0600 to 0644)"));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, access::kAccessFileBytesMax));
  ASSIGN_OR_RETURN(access::RoleBindings bindings, access::RoleBindings::Parse(text, path));
  std::string line = Format("{}: {}", path, Plural(bindings.size(), "role binding"));
  authenticator_.SetBindings(std::move(bindings));
  return line;
}

}  // namespace fabric
