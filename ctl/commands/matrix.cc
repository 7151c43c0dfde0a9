#include "base/text.h"
#include "ctl/client.h"
#include "ctl/tables/blame_lines.h"
#include "ctl/tables/campaign_tables.h"

namespace fabric::ctl {
namespace {

constexpr Option kOptions[] = {
    {.name = "ID", .value = "ID", .doc = "The campaign; the newest when not given."},
    {.name = "kind",
     .fallback = "both",
     .choices = "latency|bandwidth|ping|mtu|both",
     .doc = "What to show; both is all."},
};

Result<std::string> NewestCampaign(Client& client) {
  ASSIGN_OR_RETURN(const v1::ListCampaignsResponse response, client.ListCampaigns({}));
  if (response.campaigns().empty())
    return Status(Code::kNotFound, "no campaigns: start one with fabricctl probe run");
  return response.campaigns(0).id();
}

Result<Output> RunMatrix(Client& client, const Arguments& arguments, Stream&) {
  v1::GetCampaignRequest request;
  request.set_id(arguments.Text("ID"));
  if (request.id().empty()) {
    ASSIGN_OR_RETURN(*request.mutable_id(), NewestCampaign(client));
  }
  ASSIGN_OR_RETURN(v1::Campaign campaign, client.GetCampaign(request));
  KeepKind(arguments.Text("kind"), campaign);
  Output output;
  output.before = CampaignLine(campaign);
  output.tables = MatrixTables(campaign);
  if (output.tables.empty()) output.tables.push_back({.empty_note = "No results yet."});
  output.after = FailureLines(campaign) + SkippedLines(campaign) + BlameLines(campaign.blame());
  output.names.push_back(campaign.id());
  output.exit_status = campaign.probes_failed() > 0 ? kExitFindings : kExitOk;
  output.message = std::make_unique<v1::Campaign>(std::move(campaign));
  return output;
}

}  // namespace

extern const Command matrix = {
    .path = "matrix",
    .summary = "Show latency and bandwidth between every two nodes, one matrix for each rail.",
    .description =
        "Rows are initiators, columns responders; - was not measured in that direction. "
        "A pair that failed shows one word in its place, and below stands why. Exits "
        "with 1 when a probe of the campaign failed.",
    .example = "fabricctl matrix --kind latency",
    .options = kOptions,
    .run = RunMatrix,
};

}  // namespace fabric::ctl
