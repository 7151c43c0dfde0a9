#include "ctl/tables/access_words.h"

#include <vector>

#include "base/text.h"
#include "ctl/tables/cells.h"
#include "proto/roles.h"
#include "proto/timestamps.h"

namespace fabric::ctl {

std::string RoleWords(const v1::Identity& identity) {
  std::vector<std::string> words;
  if (!identity.roles().empty()) words.push_back(RoleNames(RolesOf(identity)));
  for (const v1::ScopedRole& scoped : identity.scoped_roles())
    words.push_back(ScopedRoleText(scoped));
  return words.empty() ? std::string(kAbsent) : Join(words, "; ");
}

std::string_view CredentialWord(v1::Credential credential) {
  switch (credential) {
    case v1::CREDENTIAL_NONE: return "none (loopback without encryption)";
    case v1::CREDENTIAL_CERTIFICATE: return "certificate";
    case v1::CREDENTIAL_TOKEN: return "token";
    case v1::CREDENTIAL_OIDC: return "OIDC token";
    case v1::CREDENTIAL_JOIN_TOKEN: return "join token";
    default: return kAbsent;
  }
}

std::string_view OutcomeWord(v1::AuditOutcome outcome) {
  switch (outcome) {
    case v1::AUDIT_OUTCOME_OK: return "ok";
    case v1::AUDIT_OUTCOME_DENIED: return "denied";
    case v1::AUDIT_OUTCOME_FAILED: return "failed";
    default: return kAbsent;
  }
}

Table AuditTable(const google::protobuf::RepeatedPtrField<v1::AuditEntry>& entries) {
  Table table{.columns = {{.title = "ENTRY", .right_aligned = true},
                          {.title = "TIME"},
                          {.title = "WHO"},
                          {.title = "FROM"},
                          {.title = "METHOD"},
                          {.title = "TARGET"},
                          {.title = "OUTCOME"},
                          {.title = "REASON", .elastic = true},
                          {.title = "REQUEST", .wide_only = true},
                          {.title = "HASH", .wide_only = true}},
              .empty_note = "No entries."};
  for (const v1::AuditEntry& entry : entries)
    table.rows.push_back({Format("{}", entry.sequence()), ToString(entry.time()),
                          Cell(entry.identity()), Cell(entry.address()), Cell(entry.method()),
                          Cell(entry.target()), std::string(OutcomeWord(entry.outcome())),
                          Cell(entry.reason()), Cell(entry.request()), Cell(entry.hash())});
  return table;
}

}  // namespace fabric::ctl
