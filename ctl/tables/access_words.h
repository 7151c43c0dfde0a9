// Words and tables about identities and the audit log.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <string>
#include <string_view>

#include "ctl/command.h"
#include "fabric/v1/access.pb.h"

namespace fabric::ctl {

std::string RoleWords(const v1::Identity& identity);         // "operator, metrics"; "-"
std::string_view CredentialWord(v1::Credential credential);  // "certificate"
std::string_view OutcomeWord(v1::AuditOutcome outcome);      // "ok", "denied", "failed"

Table AuditTable(const google::protobuf::RepeatedPtrField<v1::AuditEntry>& entries);

}  // namespace fabric::ctl
