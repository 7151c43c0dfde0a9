#include "base/text.h"
#include "ctl/command.h"
#include "ctl/pki.h"
#include "ctl/pki_output.h"

namespace fabric::ctl {
namespace {

constexpr Option kPkiRevokeOptions[] = {
    kPkiKindOption,
    kPkiNameOption,
    kPkiFolderOption,
    {.name = "serial",
     .value = "HEX",
     .doc = "Only the certificate with this serial number. Default: all of NAME."},
    {.name = "unlisted",
     .type = OptionType::kBool,
     .doc = "The certificate with --serial is not in the list of this folder: fabricd signed it "
            "(join-certificates)."},
};

Result<Output> RunPkiRevoke(Client&, const Arguments& arguments, Stream& stream) {
  const WallTime now = SystemClock().Now().wall;
  ASSIGN_OR_RETURN(Pki pki, Pki::Open(arguments.Text("dir")));
  if (arguments.Bool("unlisted"))
    RETURN_IF_ERROR(
        pki.List(arguments.Text("KIND"), arguments.Text("NAME"), arguments.Text("serial"), now));
  ASSIGN_OR_RETURN(
      const std::vector<PkiEntry> revoked,
      pki.Revoke(arguments.Text("KIND"), arguments.Text("NAME"), arguments.Text("serial"), now));
  Output output = PkiOutput(pki, revoked, {arguments, stream, now});
  if (!output.tables.empty())
    output.after =
        Format("Copy {}/crl.pem to the file of fabricd's setting tls-crl.\n", pki.folder());
  return output;
}

}  // namespace

extern const Command pki_revoke = {
    .path = "pki revoke",
    .summary = "Revoke certificates, and write the CRL.",
    .description =
        "fabricd reloads the CRL (setting tls-crl), refuses the certificates and ends "
        "the sessions of agents that use them.",
    .example =
        "fabricctl pki revoke node gpu-001\n"
        "fabricctl pki revoke operator ada --serial 1f03c2a9",
    .options = kPkiRevokeOptions,
    .run = RunPkiRevoke,
    .offline = true,
};

}  // namespace fabric::ctl
