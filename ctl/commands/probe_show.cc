#include "base/text.h"
#include "ctl/campaign_wait.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/campaign_tables.h"

namespace fabric::ctl {
namespace {

constexpr Option kProbeShowOptions[] = {
    {.name = "ID",
     .value = "ID",
     .doc = "ID of the campaign, as in `probe list`. Default: the newest."},
    {.name = "wait",
     .type = OptionType::kBool,
     .doc = "Wait until the campaign ends. An interrupt ends the wait, not the campaign."}};

Result<Output> RunProbeShow(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const std::string id, CampaignNamed(client, arguments.Text("ID")));
  if (!arguments.Bool("wait")) {
    ASSIGN_OR_RETURN(v1::Campaign campaign, CampaignWithResults(client, id));
    return CampaignOutput(std::move(campaign));
  }
  v1::GetCampaignRequest get;
  get.set_id(id);
  ASSIGN_OR_RETURN(v1::Campaign campaign, client.Call<v1::Campaign>(get));
  ASSIGN_OR_RETURN(campaign, WaitForCampaign(client, std::move(campaign), stream, [&]() -> Status {
                     return {Code::kCancelled, Format("interrupted; campaign {} continues", id)};
                   }));
  return CampaignOutput(std::move(campaign));
}

}  // namespace

extern const Command probe_show = {
    .path = "probe show",
    .summary = "Show the results of a campaign, one row for each pair.",
    .description =
        "Latencies are half of the round-trip time; for reads and pings, the full round-trip time. "
        "The located faults are below the results. Exits as `probe run`.",
    .example =
        "fabricctl probe show\n"
        "fabricctl probe show c1 --wait\n"
        "fabricctl probe show c1 -o json",
    .options = kProbeShowOptions,
    .run = RunProbeShow,
    .watch = true,
};

}  // namespace fabric::ctl
