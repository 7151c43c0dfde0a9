// Join tokens, certificate requests that wait for approval, and the newest certificate of each
// node, in a SQLite file. Thread-safe.
//
// A change is on the disk when a function returns OK. UNAVAILABLE if the disk refuses it; nothing
// has changed then.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "daemon/store/database.h"
#include "fabric/v1/join.pb.h"

namespace fabric::join {

// A node that asks for a certificate.
struct Applicant {
  std::string node;             // Checked: see CheckNodeName
  std::string key_fingerprint;  // Of the key in its request
  std::string address;          // "192.0.2.7:51332"
};

// INVALID_ARGUMENT unless it can be the name of a node in a certificate: letters, digits and ._-,
// at most 128; it starts with a letter or a digit.
Status CheckNodeName(std::string_view node);

class Registry {
 public:
  static constexpr std::size_t kTokensMax = 1'000;
  static constexpr std::uint32_t kUsesMax = 10'000;
  static constexpr std::uint32_t kLifetimeSecondsMax = 30 * 24 * 3600;
  static constexpr std::size_t kRequestsMax = 1'000;
  static constexpr std::size_t kRequestsOfHostMax = 16;
  static constexpr Duration kTokenKept = std::chrono::hours(7 * 24);  // After its end
  // How long a request waits, and how long its approval or denial counts.
  static constexpr Duration kRequestKept = std::chrono::hours(24);

  static Result<std::unique_ptr<Registry>> Open(const std::string& path);

  // INVALID_ARGUMENT, ALREADY_EXISTS or RESOURCE_EXHAUSTED. The answer has no secret; `hash`:
  // HashOfSecret of it.
  Result<v1::JoinToken> CreateToken(const v1::CreateJoinTokenRequest& request, std::string hash,
                                    WallTime now) EXCLUDES(mutex_);
  Result<v1::JoinToken> DeleteToken(const std::string& name) EXCLUDES(mutex_);

  // Counts a use of the token. Returns its name. The same node with the same key can repeat it.
  // UNAUTHENTICATED: the token is unknown or expired. PERMISSION_DENIED: it does not permit this
  // node, has no use left, or the node has another certificate that is valid.
  Result<std::string> UseToken(std::string_view secret, const Applicant& applicant, WallTime now)
      EXCLUDES(mutex_);

  // The state of the request of this node and key; a new one is PENDING. PERMISSION_DENIED with the
  // reason if it was denied; RESOURCE_EXHAUSTED if too many wait.
  Result<v1::JoinRequest> Ask(const Applicant& applicant, WallTime now) EXCLUDES(mutex_);
  // NOT_FOUND, or FAILED_PRECONDITION if the request was decided, or the node has another
  // certificate that is valid.
  Result<v1::JoinRequest> Approve(const v1::ApproveJoinRequestRequest& request, WallTime now)
      EXCLUDES(mutex_);
  Result<v1::JoinRequest> Deny(const v1::DenyJoinRequestRequest& request, WallTime now)
      EXCLUDES(mutex_);

  // Replaces the certificate of the node.
  Status Record(const v1::NodeCertificate& certificate, WallTime now) EXCLUDES(mutex_);

  // Writes a consistent copy to a new file. ALREADY_EXISTS if there is one.
  Status BackUp(const std::string& path) EXCLUDES(mutex_);

  // Sorted by name, id and node, behind `after`.
  std::vector<v1::JoinToken> Tokens(const std::string& after, std::size_t max) const
      EXCLUDES(mutex_);
  std::vector<v1::JoinRequest> Requests(const std::string& after, std::size_t max) const
      EXCLUDES(mutex_);
  std::vector<v1::NodeCertificate> Certificates(const std::string& after, std::size_t max) const
      EXCLUDES(mutex_);

 private:
  struct Statements {
    store::Statement put, remove;
  };
  // A row of the file: kind and key name it. An empty value removes it.
  struct Row {
    std::string_view kind;
    std::string key;
    std::string value;
  };

  Registry(store::Database database, Statements statements);
  Status Load() REQUIRES(mutex_);
  Status Write(const std::vector<Row>& rows) REQUIRES(mutex_);
  Status DropOld(WallTime now) REQUIRES(mutex_);
  Status CheckNoOther(const Applicant& applicant, WallTime now) const REQUIRES(mutex_);
  Result<v1::JoinRequest> Decide(v1::JoinRequest decided) REQUIRES(mutex_);
  Result<v1::JoinRequest> Waiting(const std::string& id) const REQUIRES(mutex_);

  mutable Mutex mutex_;
  store::Database database_ GUARDED_BY(mutex_);
  Statements statements_ GUARDED_BY(mutex_);
  std::map<std::string, v1::JoinTokenRecord> tokens_ GUARDED_BY(mutex_);        // By name
  std::map<std::string, std::string, std::less<>> names_ GUARDED_BY(mutex_);    // By hash
  std::map<std::string, v1::JoinRequest> requests_ GUARDED_BY(mutex_);          // By id
  std::map<std::string, v1::NodeCertificate> certificates_ GUARDED_BY(mutex_);  // By node
};

}  // namespace fabric::join
