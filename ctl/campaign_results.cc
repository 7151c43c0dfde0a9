#include "ctl/client.h"

namespace fabric::ctl {

Result<std::string> CampaignNamed(Client& client, const std::string& id) {
  if (!id.empty()) return id;
  v1::ListCampaignsRequest newest;
  newest.set_page_size(1);
  ASSIGN_OR_RETURN(const v1::ListCampaignsResponse response,
                   client.Call<v1::ListCampaignsResponse>(newest));
  if (response.campaigns().empty())
    return Status(Code::kNotFound, "no campaigns; start one with `fabricctl probe run`");
  return response.campaigns(0).id();
}

Result<v1::Campaign> CampaignWithResults(Client& client, const std::string& id) {
  v1::GetCampaignRequest get;
  get.set_id(id);
  ASSIGN_OR_RETURN(v1::Campaign campaign, client.Call<v1::Campaign>(get));
  v1::ListCampaignResultsRequest list;
  list.set_id(campaign.id());
  list.set_page_size(10'000);  // The largest
  ASSIGN_OR_RETURN(v1::ListCampaignResultsResponse results,
                   client.List<v1::ListCampaignResultsResponse>(std::move(list)));
  campaign.mutable_results()->MergeFrom(results.results());
  return campaign;
}

}  // namespace fabric::ctl
