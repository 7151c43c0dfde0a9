// Handlers of the rpcs about identities, the audit log and joining nodes. They need no controller.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <span>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/access/audit_log.h"
#include "daemon/access/authenticator.h"
#include "daemon/access/caller.h"
#include "daemon/control/listing/list_turn.h"
#include "daemon/join/join_service.h"
#include "fabric/v1/access.pb.h"

namespace fabric::api {

// What these handlers use.
struct AccessContext {
  access::AuditLog& audit;
  join::JoinService* join;  // Null: joining is off
  const access::Caller& caller;
  // Of the caller. A method for anyone sets the identity once the secret in its request proves it.
  access::Principal& principal;
};

struct AccessHandler {
  const google::protobuf::Descriptor* (*request)();
  const google::protobuf::Descriptor* (*response)();
  Status (*call)(const AccessContext&, const google::protobuf::Message& request,
                 google::protobuf::Message& response, Moment now) = nullptr;
  // Instead of `call`: answers one turn of a page.
  Status (*list)(const AccessContext&, const google::protobuf::Message& request,
                 google::protobuf::Message& response, control::ListTurn& turn) = nullptr;
};

std::span<const AccessHandler> AccessHandlers();
// nullptr: another handler takes this type of request.
const AccessHandler* FindAccessHandler(const google::protobuf::Descriptor& request);

// INTERNAL for a wrong type of response.
Status CallAccessHandler(const AccessHandler& handler, const AccessContext& context,
                         const google::protobuf::Message& request,
                         google::protobuf::Message& response, Moment now);

// A copy of the request with the identity as its author, in the field `author` of the request or of
// a message in it. nullptr: the request stays as it is, because it has no author, or because the
// identity is not proven (CREDENTIAL_NONE).
std::unique_ptr<google::protobuf::Message> WithAuthor(const v1::Identity& identity,
                                                      const google::protobuf::Message& request);

}  // namespace fabric::api
