#include "base/text.h"
#include "base/tls/certificate.h"
#include "ctl/command.h"
#include "ctl/pki.h"
#include "ctl/pki_output.h"

namespace fabric::ctl {
namespace {

constexpr Option kPkiShowOptions[] = {kPkiFolderOption};

Result<Output> RunPkiShow(Client&, const Arguments& arguments, Stream& stream) {
  const WallTime now = SystemClock().Now().wall;
  ASSIGN_OR_RETURN(const Pki pki, Pki::Open(arguments.Text("dir")));
  Output output = PkiOutput(pki, pki.entries(), {arguments, stream, now});
  if (!output.tables.empty())
    output.before = Format("CA of {} in {}, valid until {}.\n", pki.domain(), pki.folder(),
                           tls::ToText(pki.ca_not_after()));
  return output;
}

}  // namespace

extern const Command pki_show = {
    .path = "pki show",
    .summary = "List the certificates of the small CA.",
    .description =
        "Certificates that `fabricctl pki` issued, oldest first. EXPIRES: end of the "
        "validity period. NAMES: DNS names and IP addresses.",
    .example =
        "fabricctl pki show --dir /root/fabricd-pki\n"
        "fabricctl pki show -o json",
    .options = kPkiShowOptions,
    .run = RunPkiShow,
    .offline = true,
};

}  // namespace fabric::ctl
