#include "daemon/access/gate.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/lists.h"
#include "base/text.h"
#include "daemon/access/audit_entry.h"
#include "fabric/v1/agent.pb.h"
#include "proto/timestamps.h"

namespace fabric::access {
namespace {

const Need& NeedOfAgents() {
  static const Need need = NeedOf(*v1::AgentMessage::descriptor()
                                       ->file()
                                       ->FindServiceByName("AgentLink")
                                       ->FindMethodByName("Connect"));
  return need;
}

}  // namespace

Gate::Subject Gate::SubjectOf(const google::protobuf::MethodDescriptor& method,
                              const google::protobuf::Message& request,
                              const google::protobuf::Message* response) {
  return {.target = TargetOf(method, request, response), .request = RequestText(request)};
}

v1::AuditEntry Gate::EntryOf(const Caller& caller, const v1::Identity* identity,
                             std::string_view method, Subject subject, WallTime now) const {
  v1::AuditEntry entry;
  *entry.mutable_time() = ToProto(now);
  if (identity != nullptr) {
    entry.set_identity(identity->name());
    entry.set_credential(identity->credential());
  }
  entry.set_address(caller.address);
  entry.set_method(std::string(method));
  entry.set_target(std::move(subject.target));
  entry.set_request(std::move(subject.request));
  return entry;
}

Result<Principal> Gate::Admit(const Caller& caller, const Need& need, const MakeSubject& subject,
                              const MakeParts& parts) {
  Result<Principal> principal = authenticator_.Identify(caller, clock_.Now().wall);
  if (!principal.ok())
    return Refuse(caller, nullptr, need, subject ? subject() : Subject(), principal.status());
  Status status = Check(principal->identity, need);
  if (!status.ok() && HasScoped(principal->identity, need)) {
    auto about = parts ? parts() : std::vector<Part>{Part()};
    if (!about.ok()) return about.status();
    status = CheckScopes(principal->identity, need, *about);
  }
  if (!status.ok())
    return Refuse(caller, &principal->identity, need, subject ? subject() : Subject(),
                  std::move(status));
  return principal;
}

Status Gate::AdmitAgent(const Caller& caller, const std::string* node) {
  const Need& need = NeedOfAgents();
  ASSIGN_OR_RETURN(const Principal principal, Admit(caller, need));
  if (node == nullptr || !principal.nodes) return {};
  const std::vector<std::string>& nodes = *principal.nodes;
  if (std::ranges::find(nodes, *node) != nodes.end()) return {};
  return Refuse(
      caller, &principal.identity, need, {.target = CutText("nodes/" + *node, kReasonBytesMax)},
      {Code::kPermissionDenied,
       Format("{} cannot report as node {}: expected {}", principal.identity.name(), Quoted(*node),
              nodes.empty() ? "a certificate that names a node" : ListSome(nodes, 4))});
}

// Returns `why`. A denied call is refused in any case: a failure of the audit log shows in the
// metrics, and the entry is written later.
Status Gate::Refuse(const Caller& caller, const v1::Identity* identity, const Need& need,
                    Subject subject, Status why) {
  const Moment now = clock_.Now();
  bool granted = false;
  {
    const MutexLock lock(mutex_);
    ++(why.code() == Code::kUnauthenticated ? unauthenticated_ : denied_);
    granted = limit_.Grants(HostOf(caller.address), why.message(), now);
  }
  if (!granted) return why;
  v1::AuditEntry entry = EntryOf(caller, identity, need.what, std::move(subject), now.wall);
  entry.set_outcome(v1::AUDIT_OUTCOME_DENIED);
  entry.set_reason(CutText(why.message(), kReasonBytesMax));
  (void)audit_.Append(std::move(entry));
  return why;
}

Status Gate::AfterChange(const Principal& principal, const Caller& caller, const Need& need,
                         Subject subject, const Status& result) {
  v1::AuditEntry entry =
      EntryOf(caller, &principal.identity, need.what, std::move(subject), clock_.Now().wall);
  entry.set_outcome(result.ok() ? v1::AUDIT_OUTCOME_OK : v1::AUDIT_OUTCOME_FAILED);
  entry.set_reason(CutText(result.message(), kReasonBytesMax));
  return audit_.Append(std::move(entry)).In(need.what + " was carried out, but is not recorded");
}

Status Gate::Flush(bool all) {
  const Moment now = clock_.Now();
  std::vector<DeniedLimit::Summary> summaries;
  {
    const MutexLock lock(mutex_);
    summaries = limit_.Take(now, all);
  }
  Status status = audit_.Flush();
  for (DeniedLimit::Summary& summary : summaries) {
    Caller host;
    host.address = summary.host;
    v1::AuditEntry entry = EntryOf(host, nullptr, {}, {}, now.wall);
    entry.set_outcome(v1::AUDIT_OUTCOME_DENIED);
    entry.set_reason(CutText(Format("{} more denied {} since {}, the last one: {}", summary.calls,
                                    summary.calls == 1 ? "call" : "calls",
                                    ToString(ToProto(summary.since)), summary.reason),
                             kReasonBytesMax));
    status = audit_.Append(std::move(entry));
  }
  return status;
}

GateCounts Gate::counts() const {
  GateCounts counts{.limited = limits_->refused(),
                    .audit_pending = audit_.pending(),
                    .audit_dropped = audit_.dropped()};
  const MutexLock lock(mutex_);
  counts.unauthenticated = unauthenticated_;
  counts.denied = denied_;
  return counts;
}

}  // namespace fabric::access
