#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "proto/names.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Option kProbeListOptions[] = {kFilterOption};

// "latency,ping": the kinds of probes, in their order.
std::string KindsCell(const v1::CampaignSpec& spec) {
  std::vector<std::string> kinds;
  for (const v1::ProbeSpec& probe : spec.probes()) kinds.emplace_back(ProbeKindName(probe));
  return Cell(Join(kinds, ","));
}

Result<Output> RunProbeList(Client& client, const Arguments& arguments, Stream& stream) {
  v1::ListCampaignsRequest request;
  request.set_filter(arguments.Text("filter"));
  ASSIGN_OR_RETURN(v1::ListCampaignsResponse response,
                   client.List<v1::ListCampaignsResponse>(request));
  Output output;
  Table table{.columns = {{.title = "ID"},
                          {.title = "STATE", .coloured = true},
                          {.title = "AGE", .right_aligned = true},
                          {.title = "KINDS"},
                          {.title = "AUTHOR", .wide_only = true},
                          {.title = "STARTED", .wide_only = true},
                          {.title = "ENDED", .wide_only = true},
                          {.title = "ROUNDS", .right_aligned = true},
                          {.title = "PROBES", .right_aligned = true},
                          {.title = "OK", .right_aligned = true},
                          {.title = "FAILED", .right_aligned = true},
                          {.title = "CANCELLED", .right_aligned = true},
                          {.title = "SKIPPED", .wide_only = true, .right_aligned = true}},
              .empty_note = "No campaigns; start one with `fabricctl probe run`."};
  for (const v1::Campaign& campaign : response.campaigns()) {
    table.rows.push_back(
        {Cell(campaign.id()), Cell(Name(campaign.state())),
         AgeCell(campaign.started_at(), stream.Now()), KindsCell(campaign.spec()),
         Cell(campaign.author()), ToString(campaign.started_at()), ToString(campaign.ended_at()),
         Format("{}", campaign.rounds()), Format("{}", campaign.probes_planned()),
         Format("{}", campaign.probes_ok()), Format("{}", campaign.probes_failed()),
         Format("{}", campaign.probes_cancelled()), Format("{}", campaign.skipped_size())});
    output.names.push_back(campaign.id());
  }
  output.tables.push_back(std::move(table));
  output.message = std::make_unique<v1::ListCampaignsResponse>(std::move(response));
  return output;
}

}  // namespace

extern const Command probe_list = {
    .path = "probe list",
    .summary = "List the probe campaigns, newest first.",
    .description = {},
    .example = "fabricctl probe list",
    .options = kProbeListOptions,
    .run = RunProbeList,
    .watch = true,
};

}  // namespace fabric::ctl
