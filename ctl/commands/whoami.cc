#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/access_words.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

Result<Output> RunWhoami(Client& client, const Arguments&, Stream&) {
  ASSIGN_OR_RETURN(v1::Identity identity, client.Call<v1::Identity>(v1::GetIdentityRequest()));
  Output output;
  output.before =
      Format("Name:        {}\nRoles:       {}\nCredential:  {}\nExpires:     {}\n",
             identity.name(), RoleWords(identity), CredentialWord(identity.credential()),
             identity.has_expires_at() ? ToString(identity.expires_at()) : "never");
  output.names.push_back(identity.name());
  output.message = std::make_unique<v1::Identity>(std::move(identity));
  return output;
}

}  // namespace

extern const Command whoami = {
    .path = "whoami",
    .summary = "Show who you are for the controller, and your roles.",
    .description = "The name is the author of your acknowledgements and silences.",
    .example =
        "fabricctl whoami\n"
        "fabricctl whoami -o json",
    .options = {},
    .run = RunWhoami,
    .watch = true,
};

}  // namespace fabric::ctl
