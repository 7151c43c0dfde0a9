#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/silence_table.h"

namespace fabric::ctl {
namespace {

constexpr Option kSilenceEndOptions[] = {
    {.name = "ID",
     .value = "ID",
     .doc = "ID of the silence, as in `silence list`, or a unique prefix.",
     .required = true},
    {.name = "author",
     .value = "NAME",
     .doc = "Author, for the history. Default: $USER. With a token or a certificate, the author is "
            "its name."},
};

Result<Output> RunSilenceEnd(Client& client, const Arguments& arguments, Stream&) {
  v1::DeleteSilenceRequest request;
  request.set_id(arguments.Text("ID"));
  request.set_author(arguments.Text("author"));
  ASSIGN_OR_RETURN(v1::Silence silence, client.Call<v1::Silence>(request));
  Output output;
  output.before = Format("Silence {} of {} has ended.\n", silence.id(), SilencedText(silence));
  output.names.push_back(silence.id());
  output.message = std::make_unique<v1::Silence>(std::move(silence));
  return output;
}

}  // namespace

extern const Command silence_end = {
    .path = "silence end",
    .summary = "End a silence early.",
    .description = "The silenced findings alert again immediately.",
    .example =
        "fabricctl silence end s3\n"
        "fabricctl silence end s3 --author ada",
    .options = kSilenceEndOptions,
    .run = RunSilenceEnd,
};

}  // namespace fabric::ctl
