#include "ctl/command.h"
#include "ctl/pki.h"
#include "ctl/pki_output.h"

namespace fabric::ctl {
namespace {

constexpr Option kPkiRenewOptions[] = {
    kPkiKindOption,
    kPkiNameOption,
    kPkiFolderOption,
    {.name = "lifetime",
     .type = OptionType::kDuration,
     .fallback = "90d",
     .min = "1m",
     .max = "7300d",
     .doc = "Validity period."},
};

Result<Output> RunPkiRenew(Client&, const Arguments& arguments, Stream& stream) {
  const WallTime now = SystemClock().Now().wall;
  ASSIGN_OR_RETURN(Pki pki, Pki::Open(arguments.Text("dir")));
  ASSIGN_OR_RETURN(PkiEntry entry, pki.Newest(arguments.Text("KIND"), arguments.Text("NAME")));
  entry.validity = ValidityFrom(now, arguments.Duration("lifetime"));
  ASSIGN_OR_RETURN(entry, pki.Issue(std::move(entry)));
  return IssuedOutput(pki, entry, {arguments, stream, now});
}

}  // namespace

extern const Command pki_renew = {
    .path = "pki renew",
    .summary = "Issue a certificate again, with the same names and a new key.",
    .description =
        "The previous certificate stays valid until it expires or is revoked. fabricd "
        "and fabric-agent reload the files.",
    .example =
        "fabricctl pki renew node gpu-001\n"
        "fabricctl pki renew server fabricd --lifetime 180d",
    .options = kPkiRenewOptions,
    .run = RunPkiRenew,
    .offline = true,
};

}  // namespace fabric::ctl
