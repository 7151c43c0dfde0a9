#include "ctl/tables/matrix.h"
#include "base/atomic_file.h"
#include "base/text.h"
#include "ctl/campaign_spec.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/blame_lines.h"
#include "ctl/tables/campaign_tables.h"
#include "ctl/tables/heat_image.h"
#include "ctl/tables/heat_map.h"

namespace fabric::ctl {
namespace {

constexpr Option kMatrixOptions[] = {
    {.name = "ID", .value = "ID", .doc = "ID of the campaign. Default: the newest."},
    {.name = "kind",
     .value = "KIND",
     .fallback = kKindFallback,
     .doc = "Results to show; both shows all kinds.",
     .names = ShortKinds},
    {.name = "heat",
     .type = OptionType::kBool,
     .doc = "Show shades and colours in place of numbers. -o csv always has the numbers."},
    {.name = "png",
     .type = OptionType::kPath,
     .doc = "Write the heat maps of all nodes to this PNG image."},
};

constexpr mode_t kImageMode = 0644;

Result<Output> RunMatrix(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const std::string id, CampaignNamed(client, arguments.Text("ID")));
  ASSIGN_OR_RETURN(v1::Campaign campaign, CampaignWithResults(client, id));
  RETURN_IF_ERROR(KeepKind(arguments.Text("kind"), campaign));
  Output output;
  output.before = CampaignLine(campaign);
  const bool heat = arguments.Bool("heat") && arguments.Text("output") != "csv";
  const std::size_t columns = stream.Columns();
  output.tables = heat ? HeatTables(campaign, columns) : MatrixTables(campaign, columns);
  if (output.tables.empty()) output.tables.push_back({.empty_note = "No results yet."});
  if (arguments.Has("png")) {
    ASSIGN_OR_RETURN(const std::string image, HeatPng(campaign));
    RETURN_IF_ERROR(WriteFileAtomically(arguments.Text("png"), image, kImageMode));
  }
  output.after = FailureLines(campaign) + SkippedLines(campaign) + BlameLines(campaign.blame());
  output.names.push_back(campaign.id());
  output.exit_status = campaign.probes_failed() > 0 ? kExitFindings : kExitOk;
  output.message = std::make_unique<v1::Campaign>(std::move(campaign));
  return output;
}

}  // namespace

extern const Command matrix = {
    .path = "matrix",
    .summary = "Show the results of a campaign as matrices of nodes, one for each rail.",
    .description =
        "Rows are initiators, columns are responders; - means that this direction was not "
        "measured. A latency is that of a round trip, and is shown in both directions if only one "
        "was probed. Of several results of a pair the worst is shown. A failed pair shows a "
        "keyword; "
        "the reasons are below the matrix. On a narrow terminal, the matrix has fewer nodes: the "
        "worst ones. --heat compares each value with the median of its matrix. Exits with 1 if a "
        "probe of the "
        "campaign failed.",
    .example =
        "fabricctl matrix --kind latency --heat\n"
        "fabricctl matrix c12 --kind bandwidth --png c12.png",
    .options = kMatrixOptions,
    .run = RunMatrix,
    .watch = true,
};

}  // namespace fabric::ctl
