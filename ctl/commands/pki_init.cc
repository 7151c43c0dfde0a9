#include "base/text.h"
#include "base/tls/certificate.h"
#include "ctl/command.h"
#include "ctl/pki.h"
#include "ctl/pki_output.h"

namespace fabric::ctl {
namespace {

constexpr Option kPkiInitOptions[] = {
    kPkiFolderOption,
    {.name = "domain",
     .value = "DOMAIN",
     .fallback = "fabric",
     .doc =
         "Trust domain, the first part of the names in certificates. fabricd needs the same name "
         "in its setting trust-domain."},
    {.name = "lifetime",
     .type = OptionType::kDuration,
     .fallback = "3650d",
     .min = "1h",
     .max = "7300d",
     .doc = "Validity period of the CA. No certificate is valid longer."},
};

Result<Output> RunPkiInit(Client&, const Arguments& arguments, Stream& stream) {
  const WallTime now = SystemClock().Now().wall;
  ASSIGN_OR_RETURN(const Pki pki, Pki::Create(arguments.Text("dir"), arguments.Text("domain"),
                                              ValidityFrom(now, arguments.Duration("lifetime"))));
  Output output = PkiOutput(pki, {}, {arguments, stream, now});
  if (output.tables.empty()) return output;
  output.tables.clear();
  output.before = Format("CA of {} in {}, valid until {}.\nKeep {}/ca-key.pem secret.\n",
                         pki.domain(), pki.folder(), tls::ToText(pki.ca_not_after()), pki.folder());
  output.names = {pki.folder()};
  return output;
}

}  // namespace

extern const Command pki_init = {
    .path = "pki init",
    .summary = "Make a small CA for TLS (ECDSA P-256).",
    .description = "For sites without a CA of their own. Never replaces a CA.",
    .example =
        "fabricctl pki init --dir /root/fabricd-pki\n"
        "fabricctl pki init --domain gpu.example.org --lifetime 730d",
    .options = kPkiInitOptions,
    .run = RunPkiInit,
    .offline = true,
};

}  // namespace fabric::ctl
