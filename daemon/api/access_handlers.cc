#include "daemon/api/access_handlers.h"

#include <google/protobuf/descriptor.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/control/listing/list_call.h"
#include "daemon/control/listing/list_turn.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::api {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::uint64_t kLastSequence = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t kEntriesOfTurn = 200;

// Newest first, but keys of a list ascend.
std::string AuditKey(std::uint64_t sequence) {
  return Format("{:020}", kLastSequence - sequence);
}

// 0: at the start.
std::uint64_t SequenceOf(const std::string& key) {
  const auto number = ParseNumber<std::uint64_t>(key);
  return number.ok() ? kLastSequence - *number : 0;
}

Status GetIdentity(const AccessContext& context, const v1::GetIdentityRequest&,
                   v1::Identity& response, Moment) {
  response = context.principal.identity;
  return {};
}

Status ListAuditEntries(const AccessContext& context, const v1::ListAuditEntriesRequest&,
                        v1::ListAuditEntriesResponse& response, control::ListTurn& turn) {
  ASSIGN_OR_RETURN(const auto entries,
                   context.audit.Before(SequenceOf(turn.after()), kEntriesOfTurn));
  auto at = entries.begin();
  for (; at != entries.end() && turn.HasRoom(); ++at)
    turn.Offer(AuditKey(at->sequence()), *at, *response.mutable_entries());
  turn.End(at == entries.end() && entries.size() < kEntriesOfTurn);
  return {};
}

Status VerifyAuditLog(const AccessContext& context, const v1::VerifyAuditLogRequest&,
                      v1::AuditVerification& response, Moment) {
  ASSIGN_OR_RETURN(response, context.audit.Verify());
  return {};
}

Result<join::JoinService*> JoinOf(const AccessContext& context) {
  if (context.join != nullptr) return context.join;
  return Status(Code::kFailedPrecondition,
                "joining is off: expected the settings join-ca and join-ca-key of fabricd");
}

Status GetAuthority(const AccessContext& context, const v1::GetAuthorityRequest&,
                    v1::Authority& response, Moment now) {
  ASSIGN_OR_RETURN(join::JoinService* const service, JoinOf(context));
  RETURN_IF_ERROR(service->Admit(context.caller, now));
  response = service->Authority();
  return {};
}

Status JoinNode(const AccessContext& context, const v1::JoinNodeRequest& request,
                v1::JoinNodeResponse& response, Moment now) {
  ASSIGN_OR_RETURN(join::JoinService* const service, JoinOf(context));
  RETURN_IF_ERROR(service->Admit(context.caller, now));
  std::string by;
  auto joined = service->Join(context.caller, request, now, by);
  v1::Identity& identity = context.principal.identity;
  identity.set_name(by);
  if (!by.empty()) identity.set_credential(v1::CREDENTIAL_JOIN_TOKEN);
  if (!joined.ok()) return joined.status();
  response = *std::move(joined);
  return {};
}

Status RenewNode(const AccessContext& context, const v1::RenewNodeRequest& request,
                 v1::JoinNodeResponse& response, Moment now) {
  ASSIGN_OR_RETURN(join::JoinService* const service, JoinOf(context));
  ASSIGN_OR_RETURN(response, service->Renew(context.principal, request, now));
  return {};
}

Status CreateJoinToken(const AccessContext& context, const v1::CreateJoinTokenRequest& request,
                       v1::JoinToken& response, Moment now) {
  ASSIGN_OR_RETURN(join::JoinService* const service, JoinOf(context));
  ASSIGN_OR_RETURN(response, service->CreateToken(request, now));
  return {};
}

Status DeleteJoinToken(const AccessContext& context, const v1::DeleteJoinTokenRequest& request,
                       v1::JoinToken& response, Moment) {
  ASSIGN_OR_RETURN(join::JoinService* const service, JoinOf(context));
  ASSIGN_OR_RETURN(response, service->registry().DeleteToken(request.name()));
  return {};
}

Status ApproveJoinRequest(const AccessContext& context,
                          const v1::ApproveJoinRequestRequest& request, v1::JoinRequest& response,
                          Moment now) {
  ASSIGN_OR_RETURN(join::JoinService* const service, JoinOf(context));
  ASSIGN_OR_RETURN(response, service->registry().Approve(request, now.wall));
  return {};
}

Status DenyJoinRequest(const AccessContext& context, const v1::DenyJoinRequestRequest& request,
                       v1::JoinRequest& response, Moment now) {
  ASSIGN_OR_RETURN(join::JoinService* const service, JoinOf(context));
  ASSIGN_OR_RETURN(response, service->registry().Deny(request, now.wall));
  return {};
}

// `found`: at most kEntriesOfTurn elements, sorted by `key`.
template <class Element>
void OfferAll(const std::vector<Element>& found, const std::string& (Element::*key)() const,
              google::protobuf::RepeatedPtrField<Element>& list, control::ListTurn& turn) {
  auto at = found.begin();
  for (; at != found.end() && turn.HasRoom(); ++at) turn.Offer(((*at).*key)(), *at, list);
  turn.End(at == found.end() && found.size() < kEntriesOfTurn);
}

Status ListJoinTokens(const AccessContext& context, const v1::ListJoinTokensRequest&,
                      v1::ListJoinTokensResponse& response, control::ListTurn& turn) {
  ASSIGN_OR_RETURN(join::JoinService* const service, JoinOf(context));
  OfferAll(service->registry().Tokens(turn.after(), kEntriesOfTurn), &v1::JoinToken::name,
           *response.mutable_tokens(), turn);
  return {};
}

Status ListJoinRequests(const AccessContext& context, const v1::ListJoinRequestsRequest&,
                        v1::ListJoinRequestsResponse& response, control::ListTurn& turn) {
  ASSIGN_OR_RETURN(join::JoinService* const service, JoinOf(context));
  OfferAll(service->registry().Requests(turn.after(), kEntriesOfTurn), &v1::JoinRequest::id,
           *response.mutable_requests(), turn);
  return {};
}

Status ListNodeCertificates(const AccessContext& context, const v1::ListNodeCertificatesRequest&,
                            v1::ListNodeCertificatesResponse& response, control::ListTurn& turn) {
  ASSIGN_OR_RETURN(join::JoinService* const service, JoinOf(context));
  OfferAll(service->registry().Certificates(turn.after(), kEntriesOfTurn),
           &v1::NodeCertificate::node, *response.mutable_certificates(), turn);
  return {};
}

template <auto kFunction, class Request, class Response>
constexpr AccessHandler MakeAccessHandler(Status (*)(const AccessContext&, const Request&,
                                                     Response&, Moment)) {
  return {.request = &Request::descriptor,
          .response = &Response::descriptor,
          .call = [](const AccessContext& context, const Message& request, Message& response,
                     Moment now) {
            return kFunction(context, static_cast<const Request&>(request),
                             static_cast<Response&>(response), now);
          }};
}

template <auto kFunction, class Request, class Response>
constexpr AccessHandler MakeAccessListHandler(Status (*)(const AccessContext&, const Request&,
                                                         Response&, control::ListTurn&)) {
  return {.request = &Request::descriptor,
          .response = &Response::descriptor,
          .list = [](const AccessContext& context, const Message& request, Message& response,
                     control::ListTurn& turn) {
            return kFunction(context, static_cast<const Request&>(request),
                             static_cast<Response&>(response), turn);
          }};
}

constexpr AccessHandler kAccessHandlers[] = {
    MakeAccessHandler<&GetIdentity>(&GetIdentity),
    MakeAccessListHandler<&ListAuditEntries>(&ListAuditEntries),
    MakeAccessHandler<&VerifyAuditLog>(&VerifyAuditLog),
    MakeAccessHandler<&GetAuthority>(&GetAuthority),
    MakeAccessHandler<&JoinNode>(&JoinNode),
    MakeAccessHandler<&RenewNode>(&RenewNode),
    MakeAccessHandler<&CreateJoinToken>(&CreateJoinToken),
    MakeAccessListHandler<&ListJoinTokens>(&ListJoinTokens),
    MakeAccessHandler<&DeleteJoinToken>(&DeleteJoinToken),
    MakeAccessListHandler<&ListJoinRequests>(&ListJoinRequests),
    MakeAccessHandler<&ApproveJoinRequest>(&ApproveJoinRequest),
    MakeAccessHandler<&DenyJoinRequest>(&DenyJoinRequest),
    MakeAccessListHandler<&ListNodeCertificates>(&ListNodeCertificates),
};

const FieldDescriptor* AuthorOf(const google::protobuf::Descriptor& type) {
  const FieldDescriptor* const field = type.FindFieldByName("author");
  return field != nullptr && !field->is_repeated() && field->type() == FieldDescriptor::TYPE_STRING
             ? field
             : nullptr;
}

}  // namespace

std::span<const AccessHandler> AccessHandlers() {
  return kAccessHandlers;
}

const AccessHandler* FindAccessHandler(const google::protobuf::Descriptor& request) {
  for (const AccessHandler& handler : kAccessHandlers)
    if (handler.request() == &request) return &handler;
  return nullptr;
}

Status CallAccessHandler(const AccessHandler& handler, const AccessContext& context,
                         const Message& request, Message& response, Moment now) {
  if (handler.response() != response.GetDescriptor())
    return {Code::kInternal,
            Format("expected a response of type {}, saw {}", handler.response()->full_name(),
                   response.GetDescriptor()->full_name())};
  if (handler.list == nullptr) return handler.call(context, request, response, now);
  return control::CallInTurns(request, response, now,
                              [&](const Message& one, Message& part, control::ListTurn& turn) {
                                return handler.list(context, one, part, turn);
                              });
}

std::unique_ptr<Message> WithAuthor(const v1::Identity& identity, const Message& request) {
  if (identity.credential() == v1::CREDENTIAL_NONE) return nullptr;
  std::unique_ptr<Message> copy;
  const auto writable = [&]() -> Message& {
    if (copy == nullptr) {
      copy.reset(request.New());
      copy->CopyFrom(request);
    }
    return *copy;
  };
  const google::protobuf::Descriptor& type = *request.GetDescriptor();
  if (const FieldDescriptor* const author = AuthorOf(type))
    request.GetReflection()->SetString(&writable(), author, identity.name());
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* const field = type.field(i);
    if (field->is_repeated() || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const FieldDescriptor* const author = AuthorOf(*field->message_type());
    if (author == nullptr || !request.GetReflection()->HasField(request, field)) continue;
    Message& inner = *request.GetReflection()->MutableMessage(&writable(), field);
    inner.GetReflection()->SetString(&inner, author, identity.name());
  }
  return copy;
}

}  // namespace fabric::api
