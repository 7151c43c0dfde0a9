#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/silence_table.h"

namespace fabric::ctl {
namespace {

constexpr Option kSilenceListOptions[] = {kFilterOption};

Result<Output> RunSilenceList(Client& client, const Arguments& arguments, Stream&) {
  v1::ListSilencesRequest request;
  request.set_filter(arguments.Text("filter"));
  ASSIGN_OR_RETURN(v1::ListSilencesResponse response,
                   client.List<v1::ListSilencesResponse>(request));
  Output output;
  output.tables.push_back(SilenceTable(response.silences()));
  for (const v1::Silence& silence : response.silences()) output.names.push_back(silence.id());
  output.message = std::make_unique<v1::ListSilencesResponse>(std::move(response));
  return output;
}

}  // namespace

extern const Command silence_list = {
    .path = "silence list",
    .summary = "List the active silences.",
    .description = "Sorted by end time. A silence ends automatically.",
    .example =
        "fabricctl silence list\n"
        "fabricctl silence list --filter 'author=ada'",
    .options = kSilenceListOptions,
    .run = RunSilenceList,
    .watch = true,
};

}  // namespace fabric::ctl
