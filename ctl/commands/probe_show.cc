#include "ctl/arguments.h"
#include "ctl/campaign_tables.h"
#include "ctl/client.h"

namespace fabric::ctl {
namespace {

constexpr Option kOptions[] = {
    {.name = "ID", .value = "ID", .help = "As `probe list` shows it.", .required = true}};

Result<Output> RunProbeShow(Client& client, const Arguments& arguments, Stream&) {
  v1::GetCampaignRequest request;
  request.set_id(arguments.Text("ID"));
  ASSIGN_OR_RETURN(v1::Campaign campaign, client.GetCampaign(request));
  Output output;
  output.before = CampaignLine(campaign);
  output.tables.push_back(PairTable(campaign));
  output.after = SkippedLines(campaign);
  output.names.push_back(campaign.id());
  output.exit_status = CampaignExitStatus(campaign);
  output.message = std::make_unique<v1::Campaign>(std::move(campaign));
  return output;
}

}  // namespace

extern const Command probe_show = {
    .path = "probe show",
    .summary = "Show the results of one campaign, pair by pair.",
    .description =
        "Latencies are half a round trip. Exits with 1 when a probe of the campaign "
        "failed.",
    .example = "fabricctl probe show c1 -o wide",
    .options = kOptions,
    .run = RunProbeShow,
};

}  // namespace fabric::ctl
