#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/campaign_tables.h"

namespace fabric::ctl {
namespace {

constexpr Option kProbeCancelOptions[] = {{.name = "ID",
                                           .value = "ID",
                                           .doc = "ID of the campaign, as in `probe list`.",
                                           .required = true}};

Result<Output> RunProbeCancel(Client& client, const Arguments& arguments, Stream&) {
  v1::CancelCampaignRequest request;
  request.set_id(arguments.Text("ID"));
  ASSIGN_OR_RETURN(v1::Campaign campaign, client.Call<v1::Campaign>(request));
  Output output;
  if (campaign.state() == v1::CAMPAIGN_STATE_DONE)
    output.before = "The campaign had already ended; no probe was cancelled.\n";
  output.before += CampaignLine(campaign);
  output.names.push_back(campaign.id());
  output.message = std::make_unique<v1::Campaign>(std::move(campaign));
  return output;
}

}  // namespace

extern const Command probe_cancel = {
    .path = "probe cancel",
    .summary = "Cancel a campaign that is running or queued.",
    .description =
        "Results so far are kept: use `probe show`. A campaign that has ended is unchanged.",
    .example =
        "fabricctl probe cancel c12\n"
        "fabricctl probe cancel c12 -o json",
    .options = kProbeCancelOptions,
    .run = RunProbeCancel,
};

}  // namespace fabric::ctl
