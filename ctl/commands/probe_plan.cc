#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/input.h"
#include "base/lists.h"
#include "base/text.h"
#include "ctl/campaign_spec.h"
#include "ctl/command.h"
#include "ctl/item_progress.h"
#include "ctl/profiles.h"
#include "ctl/render.h"
#include "ctl/snapshots.h"
#include "ctl/subnet_files.h"
#include "ctl/tables/cells.h"
#include "daemon/blame/cable_pairs.h"
#include "daemon/plan/budget.h"
#include "daemon/plan/plan.h"
#include "proto/coverage.h"
#include "proto/json.h"

namespace fabric::ctl {
namespace {

constexpr std::uint32_t kNodesMax = 65'536;
constexpr std::uint32_t kRailsMax = 64;

constexpr Option kProbePlanOptions[] = {
    {.name = "SNAPSHOT",
     .type = OptionType::kPath,
     .doc = "Output of `fabric-agent inspect -o json` on each node; plans for their ports.",
     .repeated = true},
    {.name = "nodes",
     .type = OptionType::kWords,
     .value = "COUNT|NAMES",
     .doc = "Number of nodes (n1 to nCOUNT), or a list of names (a,b,c). With snapshots: only "
            "these nodes."},
    {.name = "rails",
     .type = OptionType::kNumbers,
     .value = "COUNT|RAILS",
     .doc = "Number of rails, or a list (0,1). Default: 1, or all rails of the snapshots."},
    kPatternOption,
    kHubOption,
    kDegreeOption,
    kSeedOption,
    {.name = "nodes-per-leaf",
     .type = OptionType::kNumber,
     .value = "COUNT",
     .doc = "Nodes per leaf switch. Default: leaf switches are unknown. Not used with snapshots."},
    {.name = "leaves-per-pod",
     .type = OptionType::kNumber,
     .value = "COUNT",
     .doc = "Leaf switches per pod. Default: pods are unknown. Not used with snapshots."},
    {.name = "profile",
     .value = "NAME|FILE",
     .doc = "Profile that places the ports of the snapshots in leaves and pods."},
    {.name = "infiniband-topology",
     .type = OptionType::kWords,
     .value = "FILES",
     .doc = "Snapshot of a subnet, or output of ibnetdiscover, with the leaf switches of the "
            "InfiniBand ports of the snapshots. The pattern cables also needs the routes: a "
            "snapshot has them; else also give the output of dump_lfts (net.txt,lfts.txt)."},
    kPairsAtOnceOption,
    kPairsPerUplinkOption,
    kIncludeBusyOption,
};

Status Wrong(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}

// "16" or "a,b,c".
Result<std::vector<std::string>> NodesOf(const Arguments& arguments) {
  const std::vector<std::string> words = arguments.Words("nodes");
  if (words.size() != 1 || !ParseNumber<std::uint64_t>(words[0]).ok()) {
    const std::set<std::string> different(words.begin(), words.end());
    if (different.size() < words.size()) return Wrong("--nodes: a node is named twice");
    return words;
  }
  const auto count = ParseNumber<std::uint32_t>(words[0]);
  if (!count.ok() || *count < 1 || *count > kNodesMax)
    return Wrong(Format("--nodes: expected 1 to {} nodes, or names, saw {}", kNodesMax, words[0]));
  std::vector<std::string> nodes;
  for (std::uint32_t n = 1; n <= *count; ++n) nodes.push_back(Format("n{}", n));
  return nodes;
}

Result<std::vector<std::uint32_t>> RailsOf(const Arguments& arguments) {
  std::vector<std::uint32_t> rails = arguments.Numbers("rails");
  if (rails.empty()) return std::vector<std::uint32_t>{0};
  if (rails.size() > 1) {
    std::sort(rails.begin(), rails.end());
    rails.erase(std::unique(rails.begin(), rails.end()), rails.end());
    return rails;
  }
  if (rails[0] < 1 || rails[0] > kRailsMax)
    return Wrong(Format("--rails: expected 1 to {} rails, saw {}", kRailsMax, rails[0]));
  const std::uint32_t count = rails[0];
  rails.clear();
  for (std::uint32_t rail = 0; rail < count; ++rail) rails.push_back(rail);
  return rails;
}

// A plan for nodes of which only the names are known.
Result<plan::Plan> AbstractPlan(const Arguments& arguments, const v1::CampaignSpec& spec) {
  ASSIGN_OR_RETURN(const std::vector<std::string> nodes, NodesOf(arguments));
  ASSIGN_OR_RETURN(const std::vector<std::uint32_t> rails, RailsOf(arguments));
  const std::uint32_t per_leaf = arguments.Number("nodes-per-leaf");
  const std::uint32_t per_pod = arguments.Number("leaves-per-pod");
  if (per_pod != 0 && per_leaf == 0) return Wrong("--leaves-per-pod requires --nodes-per-leaf");
  for (const std::string_view option : {"profile", "infiniband-topology"})
    if (arguments.Has(option)) return Wrong(Format("--{} requires snapshot files", option));
  std::vector<plan::Port> ports;
  std::vector<std::string> leaves, pods;
  ports.reserve(nodes.size() * rails.size());
  for (const std::uint32_t rail : rails) {
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      plan::Port& port = ports.emplace_back();
      port.port.set_node(nodes[n]);
      port.port.set_rail(rail);
      port.network = v1::LINK_LAYER_ETHERNET;
      if (per_leaf == 0) continue;
      if (n % per_leaf == 0) leaves.push_back(Format("leaf{}", leaves.size() + 1));
      port.leaf = static_cast<plan::LeafIndex>(leaves.size() - 1);
      if (per_pod == 0) continue;
      port.pod = static_cast<plan::PodIndex>(n / per_leaf / per_pod);
      if (port.pod == pods.size()) pods.push_back(Format("pod{}", pods.size() + 1));
    }
  }
  return plan::MakePlan(std::move(ports), std::move(leaves), spec, std::move(pods));
}

// Locations of the ports of the snapshots. `gaps` gets the errors of the topology file.
Result<fleet::Sites> FindSites(const Arguments& arguments, std::vector<v1::CoverageGap>& gaps,
                               Stream& stream) {
  ASSIGN_OR_RETURN(profile::Places places, FindPlaces(arguments.Text("profile")));
  fleet::Sites sites(std::move(places));
  if (!arguments.Has("infiniband-topology")) return sites;
  ASSIGN_OR_RETURN(const subnet::Subnet all,
                   ReadSubnet(arguments.Words("infiniband-topology"), stream));
  const subnet::Subnet* const subnets[] = {&all};
  auto topology = fleet::InfinibandTopology::Of(subnets);
  const auto add_gap = [&](const std::string& text) {
    gaps.push_back(CoverageGapOf(v1::COVERAGE_GAP_REASON_INVALID_TOPOLOGY, text));
  };
  for (const subnet::Problem& problem : all.problems().kept()) add_gap(subnet::ToString(problem));
  for (const std::string& end : topology.ambiguous())
    add_gap(end + ": expected one cable, saw two; the port is left out");
  sites.set_infiniband(std::move(topology));
  return sites;
}

Result<plan::Plan> PlanOf(const Arguments& arguments, v1::CampaignSpec& spec, Stream& stream) {
  const std::vector<std::string> files = arguments.All("SNAPSHOT");
  if (files.empty()) {
    if (!arguments.Has("nodes")) return Wrong("expected --nodes or snapshot files");
    return AbstractPlan(arguments, spec);
  }
  for (const std::string_view option : {"nodes-per-leaf", "leaves-per-pod"})
    if (arguments.Has(option))
      return Wrong(Format(
          "--{} is not allowed with snapshots: the snapshots and --profile give the location",
          option));
  std::vector<v1::CoverageGap> gaps;
  ASSIGN_OR_RETURN(const fleet::Sites sites, FindSites(arguments, gaps, stream));
  for (const std::string& name : arguments.Words("nodes")) spec.add_nodes(name);
  for (const std::uint32_t rail : arguments.Numbers("rails")) spec.add_rails(rail);
  FileProgress progress(stream, "probe plan", files);
  ASSIGN_OR_RETURN(const std::vector<fleet::NodeRecord> records,
                   ReadSnapshots(files, [&] { progress.Next(); }));
  const fleet::FleetView fleet(records);
  const auto cover = [&](std::span<const v1::ProbePort> ports) -> Result<plan::Cover> {
    ASSIGN_OR_RETURN(blame::PortCover made,
                     blame::CoverPorts(blame::FabricOf(fleet, sites), ports, spec.seed()));
    return plan::Cover{.rounds = std::move(made.rounds), .gaps = std::move(made.gaps)};
  };
  ASSIGN_OR_RETURN(plan::Plan plan, plan::MakePlan(fleet, spec, {}, sites, cover));
  plan.skipped.insert(plan.skipped.begin(), gaps.begin(), gaps.end());
  return plan;
}

// "n1" of one rail, "n1/rail0" of several, "n1/mlx5_0/1" where the port is known.
std::vector<std::string> NamesOf(const plan::Plan& plan) {
  const bool several = std::any_of(plan.ports.begin(), plan.ports.end(), [&](const auto& port) {
    return port.port.rail() != plan.ports.front().port.rail();
  });
  std::vector<std::string> names;
  for (const plan::Port& port : plan.ports) {
    const std::string& node = port.port.node();
    names.push_back(!port.port.device().empty() ? plan::PortName(port.port)
                    : several                   ? Format("{}/rail{}", node, port.port.rail())
                                                : node);
  }
  return names;
}

using Json = nlohmann::ordered_json;

// As in the JSON of a campaign. Names from the command line need not be UTF-8.
Json JsonOf(v1::CoverageGap gap) {
  gap.set_node(Printable(gap.node()));
  gap.set_text(Printable(gap.text()));
  return Json::parse(ToJson(gap, false));
}

// Prints the plan round by round, so that only one round is in memory.
class Printer {
 public:
  Printer(const plan::Plan& plan, OutputFormat format, Stream& stream)
      : plan_(plan),
        format_(format),
        structured_(format == OutputFormat::kJson || format == OutputFormat::kYaml),
        stream_(stream),
        list_(format, "rounds"),
        names_(NamesOf(plan)) {}

  bool Begin(const v1::CampaignSpec& spec) {
    if (structured_) return stream_.Write(list_.Begin());
    if (format_ == OutputFormat::kName) return true;
    return stream_.Write(
        Format("{} of {}, {}, seed {}\nROUND  PAIRS\n", Plural(plan_.rounds.pairs(), "pair"),
               Plural(plan_.ports.size(), "port"), PatternName(spec.pattern()), spec.seed()));
  }

  bool Round(const std::vector<plan::Pair>& pairs) {
    ++round_;
    if (!structured_) return stream_.Write(Text(pairs));
    Json round = {{"pairs", Json::array()}};
    for (const plan::Pair& pair : pairs)
      round["pairs"].push_back(
          {{"a", Printable(names_[pair.from])}, {"b", Printable(names_[pair.to])}});
    return stream_.Write(list_.Item(round));
  }

  bool End() {
    if (structured_) {
      Json more = Json::object();
      for (const v1::CoverageGap& gap : plan_.skipped) more["skipped"].push_back(JsonOf(gap));
      return stream_.Write(list_.End(more));
    }
    if (format_ == OutputFormat::kName) return true;
    std::string text = Format("{}\n", Plural(round_, "round"));
    for (const v1::CoverageGap& gap : plan_.skipped)
      text += Format("skipped {}\n", Printable(ToString(gap)));
    return stream_.Write(text);
  }

 private:
  std::string Text(const std::vector<plan::Pair>& pairs) const {
    std::string text;
    for (const plan::Pair& pair : pairs) {
      const std::string from = Printable(names_[pair.from]);
      const std::string to = Printable(names_[pair.to]);
      text +=
          format_ == OutputFormat::kName ? Format("{} {}\n", from, to) : Format(" {}>{}", from, to);
    }
    return format_ == OutputFormat::kName ? text : Format("{:5} {}\n", round_, text);
  }

  const plan::Plan& plan_;
  const OutputFormat format_;
  const bool structured_;
  Stream& stream_;
  ListRenderer list_;
  const std::vector<std::string> names_;
  std::size_t round_ = 0;
};

Result<Output> RunProbePlan(Client&, const Arguments& arguments, Stream& stream) {
  v1::CampaignSpec spec;
  RETURN_IF_ERROR(ReadPairs(arguments, spec));
  ASSIGN_OR_RETURN(const plan::Plan plan, PlanOf(arguments, spec, stream));
  const bool limited = spec.pairs_at_once() != 0 || spec.pairs_per_uplink() != 0;
  Printer printer(plan, FormatNamed(arguments.Text("output")), stream);
  bool printed = printer.Begin(spec);
  std::vector<plan::Pair> pairs;
  for (std::size_t round = 0; printed && round < plan.rounds.size(); ++round) {
    plan.rounds.At(round, pairs);
    if (!limited) {
      printed = printer.Round(pairs);
      continue;
    }
    for (const auto& wave : plan::Waves(plan, pairs, spec.pairs_at_once(), spec.pairs_per_uplink()))
      printed = printed && printer.Round(wave);
  }
  if (!printed || !printer.End()) return Status(Code::kInternal, "cannot write to standard output");
  return Output();
}

}  // namespace

extern const Command probe_plan = {
    .path = "probe plan",
    .summary = "Print the rounds and pairs of a campaign without running it.",
    .description =
        "Works without a controller and without nodes: --nodes 16 plans for n1 to n16. Each port "
        "is in at most one pair of a round; rails run in parallel. An even number N of nodes takes "
        "N-1 rounds. Limits on simultaneous pairs split rounds. -o json prints "
        "{\"rounds\":[{\"pairs\":[{\"a\":..,\"b\":..}]}]}; a is the initiator.",
    .example =
        "fabricctl probe plan --nodes 16 --pattern random-regular --seed 7 -o json\n"
        "fabricctl probe plan n1.json n2.json --pairs-per-uplink 4",
    .options = kProbePlanOptions,
    .run = RunProbePlan,
    .offline = true,
};

}  // namespace fabric::ctl
