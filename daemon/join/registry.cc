#include "daemon/join/registry.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/secret.h"
#include "base/suggest.h"
#include "base/text.h"
#include "daemon/access/authenticator.h"
#include "daemon/profile/profile.h"
#include "daemon/store/application_file.h"
#include "proto/bounds.h"
#include "proto/timestamps.h"

namespace fabric::join {
namespace {

constexpr std::size_t kNodeBytesMax = 128;
constexpr std::size_t kReasonBytesMax = 512;
constexpr std::size_t kIdDigits = 16;
constexpr std::uint32_t kDefaultLifetimeSeconds = 3600;

constexpr std::string_view kTokenKind = "token";
constexpr std::string_view kUseKind = "use";
constexpr std::string_view kRequestKind = "request";
constexpr std::string_view kCertificateKind = "certificate";

// Rows are protobuf messages. A use is a row of its own, so that a token with many uses is not
// written again for each.
constexpr store::ApplicationFile kJoinFile = {.what = "a file of join tokens",
                                              .application = 0x6661626a,  // "fabj"
                                              .version = 1,
                                              .tables = R"(
CREATE TABLE rows (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (kind, key)
) WITHOUT ROWID;
)"};

std::string UseKey(const std::string& token, const v1::JoinTokenUse& use) {
  return Format("{}/{}/{}", token, use.node(), use.key_fingerprint());
}

Status CheckToken(const v1::JoinToken& token, std::uint32_t lifetime_seconds) {
  RETURN_IF_ERROR(CheckTokenName(token.name()).In("name"));
  if (token.nodes().size() > kNodeBytesMax)
    return {Code::kInvalidArgument, Format("nodes: expected a pattern of at most {} bytes, saw {}",
                                           kNodeBytesMax, token.nodes().size())};
  if (token.uses_max() > Registry::kUsesMax)
    return {Code::kInvalidArgument,
            Format("uses_max: expected at most {}, saw {}", Registry::kUsesMax, token.uses_max())};
  if (lifetime_seconds > Registry::kLifetimeSecondsMax)
    return {Code::kInvalidArgument,
            Format("lifetime_seconds: expected at most {} (30 days), saw {}",
                   Registry::kLifetimeSecondsMax, lifetime_seconds)};
  return {};
}

bool IsExpired(const v1::JoinToken& token, WallTime now) {
  return FromProto(token.expires_at()) <= now;
}

Status CheckPermits(const v1::JoinToken& token, const Applicant& applicant) {
  if (!token.nodes().empty() && !profile::MatchesPattern(token.nodes(), applicant.node))
    return {Code::kPermissionDenied,
            Format("join token {}: expected a node that matches '{}', saw {}", token.name(),
                   token.nodes(), Quoted(applicant.node))};
  if (static_cast<std::uint32_t>(token.uses_size()) < token.uses_max()) return {};
  const v1::JoinTokenUse& last = *token.uses().rbegin();
  return {Code::kPermissionDenied,
          Format("join token {}: no use is left of {}, the last one was by {} at {}", token.name(),
                 token.uses_max(), last.node(), ToString(last.at()))};
}

// The values behind `after`.
template <class Map, class Get>
auto Behind(const Map& map, const std::string& after, std::size_t max, Get get) {
  std::vector<std::decay_t<decltype(get(map.begin()->second))>> found;
  for (auto at = map.upper_bound(after); at != map.end() && found.size() < max; ++at)
    found.push_back(get(at->second));
  return found;
}

}  // namespace

Status CheckNodeName(std::string_view node) {
  const auto is_alnum = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const bool valid = !node.empty() && node.size() <= kNodeBytesMax && is_alnum(node.front()) &&
                     std::ranges::all_of(node, [&](char c) {
                       return is_alnum(c) || c == '.' || c == '-' || c == '_';
                     });
  if (valid) return {};
  return {Code::kInvalidArgument,
          Format("node: expected 1 to {} letters, digits and ._-, starting with a letter or a "
                 "digit, saw {}",
                 kNodeBytesMax, Quoted(node))};
}

Registry::Registry(store::Database database, Statements statements)
    : database_(std::move(database)), statements_(std::move(statements)) {}

Result<std::unique_ptr<Registry>> Registry::Open(const std::string& path) {
  ASSIGN_OR_RETURN(store::Database database, store::OpenApplicationFile(path, kJoinFile));
  ASSIGN_OR_RETURN(store::Statement put,
                   database.Prepare("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)"));
  ASSIGN_OR_RETURN(store::Statement remove,
                   database.Prepare("DELETE FROM rows WHERE kind = ? AND key = ?"));
  std::unique_ptr<Registry> registry(
      new Registry(std::move(database), {.put = std::move(put), .remove = std::move(remove)}));
  const MutexLock lock(registry->mutex_);
  RETURN_IF_ERROR(registry->Load());
  return registry;
}

Status Registry::Load() {
  ASSIGN_OR_RETURN(store::Statement all,
                   database_.Prepare("SELECT kind, key, value FROM rows ORDER BY kind, key"));
  std::multimap<std::string, v1::JoinTokenUse> uses;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, all.Step());
    if (!more) break;
    const std::string kind(all.Bytes(0));
    const std::string key(all.Bytes(1));
    const std::string value(all.Bytes(2));
    bool read = true;
    if (kind == kTokenKind)
      read = tokens_[key].ParseFromString(value);
    else if (kind == kRequestKind)
      read = requests_[key].ParseFromString(value);
    else if (kind == kCertificateKind)
      read = certificates_[key].ParseFromString(value);
    else if (kind == kUseKind)
      read = uses.emplace(key.substr(0, key.find('/')), v1::JoinTokenUse())
                 ->second.ParseFromString(value);
    // A token without its uses could be used again: nothing is skipped.
    if (!read)
      return {Code::kDataLoss,
              Format("{}: the row {} {} cannot be decoded", database_.path(), kind, key)};
  }
  for (auto& [name, record] : tokens_) {
    names_[record.hash()] = name;
    const auto [begin, end] = uses.equal_range(name);
    for (auto at = begin; at != end; ++at) *record.mutable_token()->add_uses() = at->second;
  }
  return {};
}

// All or none.
Status Registry::Write(const std::vector<Row>& rows) {
  const auto write = [&]() REQUIRES(mutex_) -> Status {
    RETURN_IF_ERROR(database_.Execute("BEGIN IMMEDIATE;"));
    for (const Row& row : rows) {
      if (row.value.empty())
        RETURN_IF_ERROR(statements_.remove.Text(0, row.kind).Text(1, row.key).Run());
      else
        RETURN_IF_ERROR(
            statements_.put.Text(0, row.kind).Text(1, row.key).Blob(2, row.value).Run());
    }
    return database_.Execute("COMMIT;");
  };
  const Status written = write();
  if (written.ok()) return written;
  (void)database_.Execute("ROLLBACK;");  // Fails if no transaction is open.
  return {Code::kUnavailable, "cannot write to the file of join tokens: " + written.message()};
}

Status Registry::DropOld(WallTime now) {
  std::vector<Row> rows;
  std::vector<std::string> tokens, requests;
  for (const auto& [name, record] : tokens_) {
    if (!IsExpired(record.token(), now - kTokenKept)) continue;
    tokens.push_back(name);
    rows.push_back({kTokenKind, name, {}});
    for (const v1::JoinTokenUse& use : record.token().uses())
      rows.push_back({kUseKind, UseKey(name, use), {}});
  }
  for (const auto& [id, request] : requests_) {
    const bool decided = request.has_decided_at();
    const auto& since = decided ? request.decided_at() : request.requested_at();
    if (FromProto(since) + kRequestKept > now) continue;
    requests.push_back(id);
    rows.push_back({kRequestKind, id, {}});
  }
  if (rows.empty()) return {};
  RETURN_IF_ERROR(Write(rows));
  for (const std::string& name : tokens) {
    names_.erase(tokens_.at(name).hash());
    tokens_.erase(name);
  }
  for (const std::string& id : requests) requests_.erase(id);
  return {};
}

Result<v1::JoinToken> Registry::CreateToken(const v1::CreateJoinTokenRequest& request,
                                            std::string hash, WallTime now) {
  v1::JoinTokenRecord record;
  v1::JoinToken& token = *record.mutable_token();
  token = request.token();
  RETURN_IF_ERROR(CheckToken(token, request.lifetime_seconds()));
  const std::uint32_t seconds =
      request.lifetime_seconds() == 0 ? kDefaultLifetimeSeconds : request.lifetime_seconds();
  token.clear_token();
  token.clear_uses();
  if (token.uses_max() == 0) token.set_uses_max(1);
  *token.mutable_created_at() = ToProto(now);
  *token.mutable_expires_at() = ToProto(now + std::chrono::seconds(seconds));
  record.set_hash(std::move(hash));

  const MutexLock lock(mutex_);
  RETURN_IF_ERROR(DropOld(now));
  if (tokens_.contains(token.name()))
    return Status(
        Code::kAlreadyExists,
        Format("name: expected a name that no join token has, saw {}", Quoted(token.name())));
  if (tokens_.size() >= kTokensMax)
    return Status(Code::kResourceExhausted,
                  Format("expected at most {} join tokens; delete some", kTokensMax));
  RETURN_IF_ERROR(Write({{kTokenKind, token.name(), record.SerializeAsString()}}));
  names_[record.hash()] = token.name();
  tokens_[token.name()] = record;
  return token;
}

Result<v1::JoinToken> Registry::DeleteToken(const std::string& name) {
  const MutexLock lock(mutex_);
  const auto at = tokens_.find(name);
  if (at == tokens_.end()) {
    Candidates known;
    for (const auto& [other, record] : tokens_) known.push_back(other);
    return Status(Code::kNotFound, UnknownName("join token", name, known, ""));
  }
  std::vector<Row> rows = {{kTokenKind, name, {}}};
  for (const v1::JoinTokenUse& use : at->second.token().uses())
    rows.push_back({kUseKind, UseKey(name, use), {}});
  RETURN_IF_ERROR(Write(rows));
  v1::JoinToken deleted = at->second.token();
  names_.erase(at->second.hash());
  tokens_.erase(at);
  return deleted;
}

Result<std::string> Registry::UseToken(std::string_view secret, const Applicant& applicant,
                                       WallTime now) {
  const MutexLock lock(mutex_);
  const auto name = names_.find(HashOfSecret(secret));
  if (name == names_.end()) return Status(Code::kUnauthenticated, "the join token is not known");
  v1::JoinToken& token = *tokens_.at(name->second).mutable_token();
  if (IsExpired(token, now))
    return Status(Code::kUnauthenticated, Format("join token {}: it expired at {}", token.name(),
                                                 ToString(token.expires_at())));
  for (const v1::JoinTokenUse& use : token.uses())
    if (use.node() == applicant.node && use.key_fingerprint() == applicant.key_fingerprint)
      return token.name();
  RETURN_IF_ERROR(CheckPermits(token, applicant));
  if (!token.replace())
    RETURN_IF_ERROR(CheckNoOther(applicant, now).In("join token " + token.name()));
  v1::JoinTokenUse use;
  use.set_node(applicant.node);
  use.set_key_fingerprint(applicant.key_fingerprint);
  *use.mutable_at() = ToProto(now);
  RETURN_IF_ERROR(Write({{kUseKind, UseKey(token.name(), use), use.SerializeAsString()}}));
  *token.add_uses() = use;
  return token.name();
}

// Otherwise who has a token could take the name of any node.
Status Registry::CheckNoOther(const Applicant& applicant, WallTime now) const {
  const auto at = certificates_.find(applicant.node);
  if (at == certificates_.end() || FromProto(at->second.expires_at()) <= now ||
      at->second.key_fingerprint() == applicant.key_fingerprint)
    return {};
  return {Code::kPermissionDenied,
          Format("node {} has a certificate until {}: to replace it, use a token or an approval "
                 "with --replace",
                 applicant.node, ToString(at->second.expires_at()))};
}

Result<v1::JoinRequest> Registry::Ask(const Applicant& applicant, WallTime now) {
  const MutexLock lock(mutex_);
  RETURN_IF_ERROR(DropOld(now));
  const std::string id = applicant.key_fingerprint.substr(0, kIdDigits);
  if (const auto at = requests_.find(id); at != requests_.end()) {
    const v1::JoinRequest& known = at->second;
    if (known.node() != applicant.node || known.key_fingerprint() != applicant.key_fingerprint)
      return Status(Code::kPermissionDenied, Format("request {}: expected the node {}, saw {}", id,
                                                    known.node(), Quoted(applicant.node)));
    if (known.state() != v1::JOIN_REQUEST_STATE_DENIED) return known;
    return Status(Code::kPermissionDenied,
                  Format("request {} was denied by {}{}", id, known.author(),
                         known.reason().empty() ? "" : ": " + known.reason()));
  }
  const std::string host = access::HostOf(applicant.address);
  std::size_t of_host = 0;
  for (const auto& [other, request] : requests_)
    if (access::HostOf(request.address()) == host) ++of_host;
  if (requests_.size() >= kRequestsMax || of_host >= kRequestsOfHostMax)
    return Status(Code::kResourceExhausted,
                  Format("expected at most {} certificate requests, {} of one address: decide "
                         "those that wait",
                         kRequestsMax, kRequestsOfHostMax));
  v1::JoinRequest request;
  request.set_id(id);
  request.set_node(applicant.node);
  request.set_key_fingerprint(applicant.key_fingerprint);
  request.set_address(applicant.address);
  request.set_state(v1::JOIN_REQUEST_STATE_PENDING);
  *request.mutable_requested_at() = ToProto(now);
  return Decide(std::move(request));
}

Result<v1::JoinRequest> Registry::Decide(v1::JoinRequest decided) {
  RETURN_IF_ERROR(Write({{kRequestKind, decided.id(), decided.SerializeAsString()}}));
  requests_[decided.id()] = decided;
  return decided;
}

Result<v1::JoinRequest> Registry::Waiting(const std::string& id) const {
  const auto at = requests_.find(id);
  if (at == requests_.end()) {
    Candidates known;
    for (const auto& [other, request] : requests_) known.push_back(other);
    return Status(Code::kNotFound, UnknownName("certificate request", id, known, ""));
  }
  if (at->second.state() == v1::JOIN_REQUEST_STATE_PENDING) return at->second;
  const bool approved = at->second.state() == v1::JOIN_REQUEST_STATE_APPROVED;
  return Status(Code::kFailedPrecondition,
                Format("request {}: expected one that waits, saw one that {} {}", id,
                       at->second.author(), approved ? "approved" : "denied"));
}

Result<v1::JoinRequest> Registry::Approve(const v1::ApproveJoinRequestRequest& request,
                                          WallTime now) {
  const MutexLock lock(mutex_);
  RETURN_IF_ERROR(DropOld(now));
  ASSIGN_OR_RETURN(v1::JoinRequest decided, Waiting(request.id()));
  const Applicant applicant = {.node = decided.node(),
                               .key_fingerprint = decided.key_fingerprint(),
                               .address = decided.address()};
  if (!request.replace())
    if (const Status other = CheckNoOther(applicant, now); !other.ok())
      return Status(Code::kFailedPrecondition, other.message());
  decided.set_state(v1::JOIN_REQUEST_STATE_APPROVED);
  decided.set_author(request.author());
  *decided.mutable_decided_at() = ToProto(now);
  return Decide(std::move(decided));
}

Result<v1::JoinRequest> Registry::Deny(const v1::DenyJoinRequestRequest& request, WallTime now) {
  if (request.reason().size() > kReasonBytesMax)
    return Status(Code::kInvalidArgument, Format("reason: expected at most {} bytes, saw {}",
                                                 kReasonBytesMax, request.reason().size()));
  const MutexLock lock(mutex_);
  RETURN_IF_ERROR(DropOld(now));
  ASSIGN_OR_RETURN(v1::JoinRequest decided, Waiting(request.id()));
  decided.set_state(v1::JOIN_REQUEST_STATE_DENIED);
  decided.set_author(request.author());
  decided.set_reason(request.reason());
  *decided.mutable_decided_at() = ToProto(now);
  return Decide(std::move(decided));
}

Status Registry::Record(const v1::NodeCertificate& certificate, WallTime now) {
  const MutexLock lock(mutex_);
  std::vector<Row> rows;
  if (!certificates_.contains(certificate.node()) && certificates_.size() >= Limit("nodes")) {
    for (const auto& [node, other] : certificates_)
      if (FromProto(other.expires_at()) <= now) rows.push_back({kCertificateKind, node, {}});
    if (rows.empty())
      return {Code::kResourceExhausted,
              Format("expected certificates of at most {} nodes", Limit("nodes"))};
  }
  rows.push_back({kCertificateKind, certificate.node(), certificate.SerializeAsString()});
  RETURN_IF_ERROR(Write(rows));
  rows.pop_back();
  for (const Row& row : rows) certificates_.erase(row.key);
  certificates_[certificate.node()] = certificate;
  return {};
}

std::vector<v1::JoinToken> Registry::Tokens(const std::string& after, std::size_t max) const {
  const MutexLock lock(mutex_);
  return Behind(tokens_, after, max, [](const v1::JoinTokenRecord& one) { return one.token(); });
}

std::vector<v1::JoinRequest> Registry::Requests(const std::string& after, std::size_t max) const {
  const MutexLock lock(mutex_);
  return Behind(requests_, after, max, [](const v1::JoinRequest& one) { return one; });
}

std::vector<v1::NodeCertificate> Registry::Certificates(const std::string& after,
                                                        std::size_t max) const {
  const MutexLock lock(mutex_);
  return Behind(certificates_, after, max, [](const v1::NodeCertificate& one) { return one; });
}

}  // namespace fabric::join
