#include "ctl/client.h"

namespace fabric::ctl {

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
