#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::ctl {
namespace {

constexpr Option kBackupOptions[] = {
    {.name = "author",
     .value = "NAME",
     .doc = "Author, for the log. Default: $USER. With a token or a certificate, the author is its "
            "name."},
};

Result<Output> RunBackup(Client& client, const Arguments& arguments, Stream&) {
  v1::CreateBackupRequest request;
  request.set_author(arguments.Text("author"));
  ASSIGN_OR_RETURN(v1::Backup backup, client.Call<v1::Backup>(request));
  Output output;
  output.before =
      Format("Backup on the controller's host: {}, {} bytes.\n", backup.path(), backup.bytes());
  output.names.push_back(backup.path());
  output.message = std::make_unique<v1::Backup>(std::move(backup));
  return output;
}

}  // namespace

extern const Command backup = {
    .path = "backup",
    .summary = "Copy the controller's state file while it runs.",
    .description =
        "The copy is next to the state file, on the controller's host, with copies of the audit "
        "log "
        "(.audit) and of the file of joining nodes (.join). fabricd keeps the newest 5. The "
        "signing "
        "key is not in them: back up signing-key.pem too.",
    .example =
        "fabricctl backup\n"
        "fabricctl backup --author nightly",
    .options = kBackupOptions,
    .run = RunBackup,
};

}  // namespace fabric::ctl
