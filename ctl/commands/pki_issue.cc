#include "ctl/command.h"
#include "ctl/pki.h"
#include "ctl/pki_output.h"

namespace fabric::ctl {
namespace {

constexpr Option kPkiIssueOptions[] = {
    kPkiKindOption,
    kPkiNameOption,
    kPkiFolderOption,
    {.name = "dns",
     .type = OptionType::kWords,
     .doc = "DNS names. Default: NAME for nodes and servers."},
    {.name = "ip", .type = OptionType::kWords, .doc = "IP addresses."},
    {.name = "lifetime",
     .type = OptionType::kDuration,
     .fallback = "90d",
     .min = "1m",
     .max = "7300d",
     .doc = "Validity period."},
};

Result<Output> RunPkiIssue(Client&, const Arguments& arguments, Stream& stream) {
  const WallTime now = SystemClock().Now().wall;
  ASSIGN_OR_RETURN(Pki pki, Pki::Open(arguments.Text("dir")));
  PkiEntry entry{.kind = arguments.Text("KIND"),
                 .name = arguments.Text("NAME"),
                 .dns_names = arguments.Words("dns"),
                 .addresses = arguments.Words("ip"),
                 .validity = ValidityFrom(now, arguments.Duration("lifetime"))};
  const bool machine = entry.kind == "node" || entry.kind == "server";
  if (machine && !arguments.Has("dns")) entry.dns_names = {entry.name};
  ASSIGN_OR_RETURN(entry, pki.Issue(std::move(entry)));
  return IssuedOutput(pki, entry, {arguments, stream, now});
}

}  // namespace

extern const Command pki_issue = {
    .path = "pki issue",
    .summary = "Issue a certificate with a new key.",
    .description =
        "Writes cert.pem, key.pem and ca.pem to FOLDER/KIND/NAME: copy them to the owner over a "
        "trusted path. The name in the certificate is spiffe://DOMAIN/KIND/NAME. For a server, "
        "give the names and addresses that agents and clients connect to.",
    .example =
        "fabricctl pki issue server fabricd --dns fabricd.example.org --ip 192.0.2.1\n"
        "fabricctl pki issue operator ada --lifetime 30d",
    .options = kPkiIssueOptions,
    .run = RunPkiIssue,
    .offline = true,
};

}  // namespace fabric::ctl
