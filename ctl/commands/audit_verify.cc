#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"

namespace fabric::ctl {
namespace {

std::string VerifiedText(const v1::AuditVerification& result) {
  if (result.broken_sequence() != 0)
    return Format("FAIL: entry {} of the audit log: {}\n", result.broken_sequence(),
                  result.broken_reason());
  if (result.entries() == 0) return "PASS: the audit log has no entries.\n";
  return Format("PASS: {} entries, from {} to {}, hash of the last one {}\n", result.entries(),
                result.first_sequence(), result.last_sequence(), result.last_hash());
}

Result<Output> RunAuditVerify(Client& client, const Arguments&, Stream&) {
  ASSIGN_OR_RETURN(v1::AuditVerification result,
                   client.Call<v1::AuditVerification>(v1::VerifyAuditLogRequest()));
  Output output;
  output.before = VerifiedText(result);
  output.exit_status = result.broken_sequence() == 0 ? kExitOk : kExitFindings;
  output.message = std::make_unique<v1::AuditVerification>(std::move(result));
  return output;
}

}  // namespace

extern const Command audit_verify = {
    .path = "audit verify",
    .summary = "Check the chain of hashes of the audit log.",
    .description =
        "Exits with 1 when an entry was changed or removed. Someone who can write the file can "
        "remove its newest entries or compute a new chain: keep the last hash, or the lines of the "
        "journal, on another machine.",
    .example =
        "fabricctl audit verify\n"
        "fabricctl audit verify -o json",
    .options = {},
    .run = RunAuditVerify,
};

}  // namespace fabric::ctl
