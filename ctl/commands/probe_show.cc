#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/campaign_tables.h"

namespace fabric::ctl {
namespace {

constexpr Option kProbeShowOptions[] = {{.name = "ID",
                                         .value = "ID",
                                         .doc = "ID of the campaign, as in `probe list`.",
                                         .required = true}};

Result<Output> RunProbeShow(Client& client, const Arguments& arguments, Stream&) {
  ASSIGN_OR_RETURN(v1::Campaign campaign, CampaignWithResults(client, arguments.Text("ID")));
  return CampaignOutput(std::move(campaign));
}

}  // namespace

extern const Command probe_show = {
    .path = "probe show",
    .summary = "Show the results of a campaign, one row for each pair.",
    .description =
        "Latencies are half of the round-trip time; for reads and pings, the full round-trip time. "
        "The located faults are below the results. Exits with 1 if a probe failed or a fault was "
        "located.",
    .example =
        "fabricctl probe show c1 -o wide\n"
        "fabricctl probe show c1 -o json",
    .options = kProbeShowOptions,
    .run = RunProbeShow,
    .watch = true,
};

}  // namespace fabric::ctl
