#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/access_words.h"
#include "ctl/tables/cells.h"

namespace fabric::ctl {
namespace {

constexpr Option kAuditListOptions[] = {
    kFilterOption,
    {.name = "limit",
     .type = OptionType::kNumber,
     .fallback = "100",
     .min = "1",
     .max = "10000",
     .doc = "Number of entries."},
};

Result<Output> RunAuditList(Client& client, const Arguments& arguments, Stream&) {
  v1::ListAuditEntriesRequest request;
  request.set_filter(arguments.Text("filter"));
  request.set_page_size(arguments.Number("limit"));
  ASSIGN_OR_RETURN(v1::ListAuditEntriesResponse response,
                   client.Call<v1::ListAuditEntriesResponse>(request));
  Output output;
  output.tables.push_back(AuditTable(response.entries()));
  if (!response.next_page_token().empty())
    output.after = Format("Only the newest {} entries are shown; see --limit and --filter.\n",
                          response.entries_size());
  for (const v1::AuditEntry& entry : response.entries())
    output.names.push_back(Format("{}", entry.sequence()));
  output.message = std::make_unique<v1::ListAuditEntriesResponse>(std::move(response));
  return output;
}

}  // namespace

extern const Command audit_list = {
    .path = "audit list",
    .summary = "List calls that changed something or were denied, the newest first.",
    .description =
        "OUTCOME: ok; denied (no valid credential, or not the role that the method needs); failed "
        "(the method returned an error). -o wide shows the requests.",
    .example =
        "fabricctl audit list --filter outcome=denied\n"
        "fabricctl audit list --limit 20 -o wide",
    .options = kAuditListOptions,
    .run = RunAuditList,
    .watch = true,
};

}  // namespace fabric::ctl
