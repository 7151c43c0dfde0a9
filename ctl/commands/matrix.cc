#include "ctl/tables/matrix.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/atomic_file.h"
#include "base/text.h"
#include "ctl/campaign_spec.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "ctl/tables/blame_lines.h"
#include "ctl/tables/campaign_tables.h"
#include "ctl/tables/heat_image.h"
#include "ctl/tables/heat_map.h"
#include "proto/ports.h"

namespace fabric::ctl {
namespace {

constexpr Option kMatrixOptions[] = {
    {.name = "ID", .value = "ID", .doc = "ID of the campaign. Default: the newest."},
    {.name = "kind",
     .value = "KIND",
     .fallback = kKindFallback,
     .doc = "Results to show; both shows all kinds.",
     .names = ShortKinds},
    NodesOption("nodes", "Only pairs between these nodes."),
    {.name = "by-leaf",
     .type = OptionType::kBool,
     .doc = "One row and column for each leaf switch in place of each node; a cell is the worst "
            "pair between the two leaves."},
    {.name = "heat",
     .type = OptionType::kBool,
     .doc = "Show shades and colours in place of numbers. -o csv always has the numbers."},
    {.name = "png",
     .type = OptionType::kPath,
     .doc = "Write the heat maps of all nodes to this PNG image."},
};

constexpr mode_t kImageMode = 0644;
constexpr std::string_view kNoLeaf = "(unknown)";

Status KeepPairsBetween(const std::vector<std::string>& names, v1::Campaign& campaign) {
  const std::unordered_set<std::string> kept(names.begin(), names.end());
  auto& results = *campaign.mutable_results();
  results.erase(std::remove_if(results.begin(), results.end(),
                               [&](const v1::PairResult& pair) {
                                 return !kept.contains(pair.from().node()) ||
                                        !kept.contains(pair.to().node());
                               }),
                results.end());
  if (results.empty())
    return {Code::kNotFound, Format("--nodes: {} has no pair between these nodes", campaign.id())};
  return {};
}

// Replaces the nodes of the results by the leaf switches of their ports.
Status ReplaceNodesByLeaves(Client& client, v1::Campaign& campaign) {
  v1::ListDevicesRequest request;
  request.set_fields("node,device,port,leaf");
  ASSIGN_OR_RETURN(const auto ports, client.List<v1::ListDevicesResponse>(request));
  std::unordered_map<std::string, const std::string*> leaves;
  for (const v1::DeviceSummary& port : ports.devices())
    leaves.emplace(Format("{}/{}/{}", port.node(), port.device(), port.port()), &port.leaf());
  const auto replace = [&](v1::ProbePort& port) {
    const auto leaf = leaves.find(PortName(port));
    port.set_node(leaf == leaves.end() || leaf->second->empty() ? std::string(kNoLeaf)
                                                                : *leaf->second);
  };
  for (v1::PairResult& pair : *campaign.mutable_results()) {
    replace(*pair.mutable_from());
    replace(*pair.mutable_to());
  }
  return {};
}

Result<Output> RunMatrix(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const std::string id, CampaignNamed(client, arguments.Text("ID")));
  ASSIGN_OR_RETURN(v1::Campaign campaign, CampaignWithResults(client, id));
  RETURN_IF_ERROR(KeepKind(arguments.Text("kind"), campaign));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, NodesOf(client, arguments, "nodes"));
  if (arguments.Has("nodes")) RETURN_IF_ERROR(KeepPairsBetween(names, campaign));
  Output output;
  output.before = CampaignLine(campaign);
  output.after = FailureLines(campaign) + SkippedLines(campaign) + BlameLines(campaign.blame());
  v1::Campaign by_leaf;
  if (arguments.Bool("by-leaf")) {
    by_leaf = campaign;
    RETURN_IF_ERROR(ReplaceNodesByLeaves(client, by_leaf));
  }
  const v1::Campaign& shown = arguments.Bool("by-leaf") ? by_leaf : campaign;
  const bool heat = arguments.Bool("heat") && arguments.Text("output") != "csv";
  const std::size_t columns = stream.Columns();
  output.tables = heat ? HeatTables(shown, columns) : MatrixTables(shown, columns);
  if (output.tables.empty()) output.tables.push_back({.empty_note = "No results yet."});
  if (arguments.Has("png")) {
    ASSIGN_OR_RETURN(const std::string image, HeatPng(shown));
    RETURN_IF_ERROR(WriteFileAtomically(arguments.Text("png"), image, kImageMode));
  }
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
        "keyword; the reasons are below the matrix. On a narrow terminal, the matrix has fewer "
        "nodes: the worst ones. --by-leaf shows whether one leaf switch is slow. --heat compares "
        "each value with the median of its matrix. -o json prints the campaign with the pairs that "
        "are shown. Exits with 1 if a probe of the campaign failed.",
    .example =
        "fabricctl matrix --by-leaf --heat\n"
        "fabricctl matrix --kind latency --heat\n"
        "fabricctl matrix c12 --kind bandwidth --png c12.png",
    .options = kMatrixOptions,
    .run = RunMatrix,
    .watch = true,
};

}  // namespace fabric::ctl
