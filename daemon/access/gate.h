// Gate of the API: identifies callers, checks their roles, and records what the audit log keeps.
// Thread-safe.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "daemon/access/audit_log.h"
#include "daemon/access/authenticator.h"
#include "daemon/access/caller.h"
#include "daemon/access/denied_limit.h"
#include "daemon/access/policy.h"
#include "daemon/access/role_limits.h"
#include "daemon/access/scopes.h"

namespace fabric::access {

// For metrics; since the start.
struct GateCounts {
  std::uint64_t unauthenticated = 0;
  std::uint64_t denied = 0;
  std::uint64_t limited = 0;        // By the limits of the role
  std::uint64_t audit_pending = 0;  // Entries in memory, because the disk refuses them
  std::uint64_t audit_dropped = 0;  // Entries that were lost
};

class Gate {
 public:
  // All are borrowed.
  Gate(const Authenticator& authenticator, AuditLog& audit, const Clock& clock)
      : authenticator_(authenticator), audit_(audit), clock_(clock) {}

  // What a call is about.
  struct Subject {
    std::string target = {};   // "nodes/gpu-7"
    std::string request = {};  // JSON, without secrets
  };
  static Subject SubjectOf(const google::protobuf::MethodDescriptor& method,
                           const google::protobuf::Message& request,
                           const google::protobuf::Message* response);

  // The caller, if it has one of the roles. UNAUTHENTICATED or PERMISSION_DENIED otherwise, which
  // is counted and recorded. `subject` is called for a refused call only.
  // `parts`: what the call is about; without it, roles for a part of the fabric permit reads only.
  // Its failure is returned.
  using MakeSubject = std::function<Subject()>;
  Result<Principal> Admit(const Caller& caller, const Need& need, const MakeSubject& subject = {},
                          const MakeParts& parts = {});

  // Limits of roles; before the first caller.
  void SetLimits(RoleLimits::Table table) { limits_.emplace(std::move(table)); }
  // Call after Admit, and keep the result while the call runs. RESOURCE_EXHAUSTED: too many calls.
  Result<RunningCall> Begin(const Principal& principal) {
    return limits_->Begin(principal.identity, clock_.Now().steady);
  }

  // An agent on AgentLink. `node`: that its Hello names; nullptr before the Hello.
  Status AdmitAgent(const Caller& caller, const std::string* node);

  // Of a call that IsRecorded(). The first one before it: UNAVAILABLE while the audit log cannot be
  // written. The second one after it.
  Status BeforeChange() { return audit_.Ready(); }
  Status AfterChange(const Principal& principal, const Caller& caller, const Need& need,
                     Subject subject, const Status& result);

  // Counts and records a refused call. `identity`: null if it is not known. Returns `why`.
  Status Refuse(const Caller& caller, const v1::Identity* identity, const Need& need,
                Subject subject, Status why) EXCLUDES(mutex_);

  // Writes summaries of denied calls that are due, or all of them, and entries that the disk
  // refused before. Call once a second.
  Status Flush(bool all = false);

  AuditLog& audit() { return audit_; }
  GateCounts counts() const EXCLUDES(mutex_);

 private:
  v1::AuditEntry EntryOf(const Caller& caller, const v1::Identity* identity,
                         std::string_view method, Subject subject, WallTime now) const;

  const Authenticator& authenticator_;
  AuditLog& audit_;
  const Clock& clock_;
  std::optional<RoleLimits> limits_{std::in_place};
  mutable Mutex mutex_;
  DeniedLimit limit_ GUARDED_BY(mutex_);
  std::uint64_t unauthenticated_ GUARDED_BY(mutex_) = 0;
  std::uint64_t denied_ GUARDED_BY(mutex_) = 0;
};

}  // namespace fabric::access
