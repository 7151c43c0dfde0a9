#include "ctl/client.h"
#include "ctl/tables/campaign_tables.h"

namespace fabric::ctl {
namespace {

constexpr Option kOptions[] = {
    {.name = "ID", .value = "ID", .doc = "As `probe list` shows it.", .required = true}};

Result<Output> RunProbeShow(Client& client, const Arguments& arguments, Stream&) {
  v1::GetCampaignRequest request;
  request.set_id(arguments.Text("ID"));
  ASSIGN_OR_RETURN(v1::Campaign campaign, client.GetCampaign(request));
  return CampaignOutput(std::move(campaign));
}

}  // namespace

extern const Command probe_show = {
    .path = "probe show",
    .summary = "Show the results of one campaign, pair by pair.",
    .description =
        "Latencies are half a round trip, those of reads and pings a whole one. Below stands who "
        "is to blame for what went wrong. Exits with 1 when a probe of the campaign failed or "
        "somebody is to blame.",
    .example = "fabricctl probe show c1 -o wide",
    .options = kOptions,
    .run = RunProbeShow,
};

}  // namespace fabric::ctl
