#include <algorithm>

#include "base/text.h"
#include "ctl/campaign_spec.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/campaign_tables.h"
#include "ctl/tables/cells.h"
#include "proto/names.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Option kProbeListOptions[] = {
    kFilterOption,
    {.name = "since",
     .type = OptionType::kDuration,
     .min = "1s",
     .max = "3650d",
     .doc = "Show only campaigns that run, or that ran in this period: 1h. Default: all."},
    {.name = "limit",
     .type = OptionType::kNumber,
     .min = "1",
     .doc = "Show only this number of campaigns, the newest. Default: no limit."},
};

// "latency,ping": the kinds of probes, in their order.
std::string KindsCell(const v1::CampaignSpec& spec) {
  std::vector<std::string> kinds;
  for (const v1::ProbeSpec& probe : spec.probes()) kinds.emplace_back(ProbeKindName(probe));
  return Cell(Join(kinds, ","));
}

std::string RequestedNodesCell(const v1::CampaignSpec& spec) {
  return spec.nodes().empty() ? "all" : Format("{}", spec.nodes_size());
}

void SelectCampaigns(const Arguments& arguments, WallTime now,
                     google::protobuf::RepeatedPtrField<v1::Campaign>& campaigns) {
  if (arguments.Has("since")) {
    const WallTime first = now - arguments.Duration("since");
    const auto is_old = [&](const v1::Campaign& campaign) {
      return campaign.state() != v1::CAMPAIGN_STATE_RUNNING &&
             FromProto(campaign.ended_at()) < first;
    };
    campaigns.erase(std::remove_if(campaigns.begin(), campaigns.end(), is_old), campaigns.end());
  }
  if (!arguments.Has("limit")) return;
  const int limit = static_cast<int>(std::min<std::uint32_t>(
      arguments.Number("limit"), static_cast<std::uint32_t>(campaigns.size())));
  campaigns.DeleteSubrange(limit, campaigns.size() - limit);
}

Result<Output> RunProbeList(Client& client, const Arguments& arguments, Stream& stream) {
  v1::ListCampaignsRequest request;
  request.set_filter(arguments.Text("filter"));
  ASSIGN_OR_RETURN(v1::ListCampaignsResponse response,
                   client.List<v1::ListCampaignsResponse>(request));
  // Before the selection: why a campaign waits can be a campaign that is not shown.
  const google::protobuf::RepeatedPtrField<v1::Campaign> all = response.campaigns();
  SelectCampaigns(arguments, stream.Now(), *response.mutable_campaigns());
  Output output;
  Table table{.columns = {{.title = "ID"},
                          {.title = "STATE", .coloured = true},
                          {.title = "AGE", .right_aligned = true},
                          {.title = "KINDS"},
                          {.title = "PATTERN"},
                          {.title = "NODES", .right_aligned = true},
                          {.title = "AUTHOR", .wide_only = true},
                          {.title = "STARTED", .wide_only = true},
                          {.title = "ENDED", .wide_only = true},
                          {.title = "ROUNDS", .right_aligned = true},
                          {.title = "PROBES", .right_aligned = true},
                          {.title = "OK", .right_aligned = true},
                          {.title = "LOSSY", .right_aligned = true},
                          {.title = "FAILED", .right_aligned = true},
                          {.title = "CANCELLED", .right_aligned = true},
                          {.title = "SKIPPED", .wide_only = true, .right_aligned = true}},
              .empty_note = all.empty() && !arguments.Has("filter")
                                ? "No campaigns; start one with `fabricctl probe run`."
                                : "No campaign matches."};
  for (const v1::Campaign& campaign : response.campaigns()) {
    table.rows.push_back(
        {Cell(campaign.id()), Cell(Name(campaign.state())),
         AgeCell(campaign.started_at(), stream.Now()), KindsCell(campaign.spec()),
         Cell(PatternName(campaign.spec().pattern())), RequestedNodesCell(campaign.spec()),
         Cell(campaign.author()), ToString(campaign.started_at()), ToString(campaign.ended_at()),
         Format("{}", campaign.rounds()), Format("{}", campaign.probes_planned()),
         Format("{}",
                campaign.probes_ok() - std::min(campaign.probes_lossy(), campaign.probes_ok())),
         Format("{}", campaign.probes_lossy()), Format("{}", campaign.probes_failed()),
         Format("{}", campaign.probes_cancelled()), Format("{}", campaign.skipped_size())});
    output.names.push_back(campaign.id());
    if (const std::string wait = WaitText(campaign, all); !wait.empty())
      output.after += Format("{}{}.\n", campaign.id(), std::string_view(wait).substr(1));
  }
  output.tables.push_back(std::move(table));
  output.message = std::make_unique<v1::ListCampaignsResponse>(std::move(response));
  return output;
}

}  // namespace

extern const Command probe_list = {
    .path = "probe list",
    .summary = "List the probe campaigns, newest first.",
    .description =
        "Pings without an answer make a probe lossy. Below the table: campaigns without a result "
        "while others run. Each port is in one probe at a time, so they can wait for the others.",
    .example =
        "fabricctl probe list\n"
        "fabricctl probe list --since 1d --limit 20",
    .options = kProbeListOptions,
    .run = RunProbeList,
    .watch = true,
};

}  // namespace fabric::ctl
