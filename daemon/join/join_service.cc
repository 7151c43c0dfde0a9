#include "daemon/join/join_service.h"

#include <utility>

#include "base/join_token.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/tls/request.h"

namespace fabric::join {
namespace {

constexpr const char* kOtherHosts = "other addresses";

}  // namespace

Status JoinService::Admit(const access::Caller& caller, Moment now) {
  if (!caller.encrypted)
    return {Code::kUnauthenticated, "expected an encrypted connection (TLS), saw one without"};
  const std::string host = access::HostOf(caller.address);
  const MutexLock lock(mutex_);
  const bool known = hosts_.contains(host) || hosts_.size() < kHostsMax;
  const auto at =
      hosts_
          .try_emplace(known ? host : kOtherHosts, access::TokenBucket(kHostBurst, kHostPerSecond))
          .first;
  if (at->second.Take(now.steady) && all_.Take(now.steady)) return {};
  return {Code::kResourceExhausted,
          Format("expected at most {:.0f} join requests per second, {:.0f} of one address: try "
                 "again later",
                 kAllPerSecond, kHostPerSecond)};
}

v1::Authority JoinService::Authority() const {
  v1::Authority authority;
  authority.set_certificates(ca_.Authority());
  return authority;
}

Result<v1::JoinNodeResponse> JoinService::Join(const access::Caller& caller,
                                               const v1::JoinNodeRequest& request, Moment now,
                                               std::string& by) {
  RETURN_IF_ERROR(CheckNodeName(request.node()));
  ASSIGN_OR_RETURN(std::string fingerprint,
                   tls::FingerprintOfRequest(request.certificate_request()));
  const Applicant applicant = {
      .node = request.node(), .key_fingerprint = std::move(fingerprint), .address = caller.address};
  if (!request.token().empty()) {
    ASSIGN_OR_RETURN(const JoinSecret token, ParseJoinToken(request.token()));
    ASSIGN_OR_RETURN(const std::string name, registry_.UseToken(token.secret, applicant, now.wall));
    by = "join token " + name;
    return Issue(request.node(), request.certificate_request(), by, now);
  }
  ASSIGN_OR_RETURN(const v1::JoinRequest asked, registry_.Ask(applicant, now.wall));
  if (asked.state() == v1::JOIN_REQUEST_STATE_APPROVED) {
    by = "approval by " + asked.author();
    return Issue(request.node(), request.certificate_request(), by, now);
  }
  v1::JoinNodeResponse response;
  response.set_state(asked.state());
  response.set_request_id(asked.id());
  return response;
}

Result<v1::JoinNodeResponse> JoinService::Renew(const access::Principal& principal,
                                                const v1::RenewNodeRequest& request, Moment now) {
  const bool named = principal.identity.credential() == v1::CREDENTIAL_CERTIFICATE &&
                     principal.nodes && principal.nodes->size() == 1;
  if (!named)
    return Status(Code::kPermissionDenied,
                  Format("Renew: expected a certificate with spiffe://DOMAIN/node/NAME, saw {}",
                         principal.identity.name()));
  const std::string& node = principal.nodes->front();
  ASSIGN_OR_RETURN(v1::JoinNodeResponse response,
                   Issue(node, request.certificate_request(), "renewal", now));
  if (on_renewed_) on_renewed_(node, response.certificate());
  return response;
}

// The certificate is recorded before it is given out.
Result<v1::JoinNodeResponse> JoinService::Issue(const std::string& node, const std::string& request,
                                                const std::string& granted_by, Moment now) {
  ASSIGN_OR_RETURN(SignedNode made, ca_.Sign(node, request, now.wall));
  made.facts.set_granted_by(granted_by);
  RETURN_IF_ERROR(registry_.Record(made.facts, now.wall));
  v1::JoinNodeResponse response;
  response.set_state(v1::JOIN_REQUEST_STATE_APPROVED);
  response.set_certificate(std::move(made.certificate_pem));
  response.set_authority(ca_.Authority());
  return response;
}

Result<v1::JoinToken> JoinService::CreateToken(const v1::CreateJoinTokenRequest& request,
                                               Moment now) {
  ASSIGN_OR_RETURN(std::string secret, MakeSecret(kJoinTokenPrefix));
  ASSIGN_OR_RETURN(v1::JoinToken token,
                   registry_.CreateToken(request, HashOfSecret(secret), now.wall));
  token.set_token(ToString(JoinSecret{.secret = std::move(secret), .pin = ca_.Pin()}));
  return token;
}

}  // namespace fabric::join
