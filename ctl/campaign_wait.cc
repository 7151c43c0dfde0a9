#include "ctl/campaign_wait.h"

#include <chrono>
#include <utility>

#include "ctl/tables/campaign_tables.h"

namespace fabric::ctl {
namespace {

constexpr Duration kPollInterval = std::chrono::milliseconds(250);

// ProgressLine(), and why there can be no result yet.
Result<std::string> ProgressOf(Client& client, const v1::Campaign& campaign) {
  std::string line = ProgressLine(campaign);
  if (campaign.probes_ok() + campaign.probes_failed() > 0) return line;
  v1::ListCampaignsRequest running;
  running.set_filter("state=running");
  running.set_fields("id,state");
  ASSIGN_OR_RETURN(const auto others, client.Call<v1::ListCampaignsResponse>(running));
  return line + WaitText(campaign, others.campaigns());
}

}  // namespace

Result<v1::Campaign> WaitForCampaign(Client& client, v1::Campaign campaign, Stream& stream,
                                     const std::function<Status()>& interrupted) {
  v1::GetCampaignRequest get;
  get.set_id(campaign.id());
  while (campaign.state() == v1::CAMPAIGN_STATE_RUNNING) {
    ASSIGN_OR_RETURN(const std::string line, ProgressOf(client, campaign));
    stream.Progress(line);
    if (!stream.Wait(kPollInterval)) return interrupted();
    ASSIGN_OR_RETURN(campaign, client.Call<v1::Campaign>(get));
  }
  return CampaignWithResults(client, campaign.id());
}

}  // namespace fabric::ctl
