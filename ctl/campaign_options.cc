// All options of a campaign, and the spec that they make.
#include <iterator>

#include "ctl/campaign_spec.h"
#include "ctl/host_list.h"

namespace fabric::ctl {
namespace {

constexpr Option kPairOptions[] = {
    NodesOption("nodes",
                "Probe only pairs of these nodes: n1,n2, gpu[001-016,20] or pool=h100,rack!=r12."),
    {.name = "rails",
     .type = OptionType::kNumbers,
     .value = "RAILS",
     .doc = "Probe only these rails: 0,1."},
    kPresetOption,
    {.name = "kind",
     .type = OptionType::kWords,
     .value = "KINDS",
     .fallback = kKindFallback,
     .doc = "Kinds of probes, in order; latency, bandwidth and both are RC writes, incast is alone "
            "and requires --hub.",
     .names = AllKinds},
    kPatternOption,
    kHubOption,
    kDegreeOption,
    kSeedOption,
    {.name = "until-decided",
     .type = OptionType::kBool,
     .doc = "End when all faults are located, or when no fault is found."},
    kPairsAtOnceOption,
    kPairsPerUplinkOption,
    kIncludeBusyOption,
};

constexpr Option kClassOptions[] = {
    kDscpOption,
    kTrafficClassOption,
    kServiceLevelOption,
    kGidIndexOption,
    kPkeyOption,
    kCompareDefaultOption,
    {.name = "probe-timeout",
     .type = OptionType::kDuration,
     .min = "1ms",
     .max = "1h",
     .doc = "Timeout of a probe, including setup. Default: set by the controller."},
};

}  // namespace

std::vector<Option> CampaignOptions() {
  std::vector<Option> all(std::begin(kPairOptions), std::end(kPairOptions));
  const std::vector<Option> kinds = KindOptions();
  all.insert(all.end(), kinds.begin(), kinds.end());
  all.insert(all.end(), std::begin(kClassOptions), std::end(kClassOptions));
  return all;
}

Result<v1::CampaignSpec> ReadCampaign(Client& client, const Arguments& arguments) {
  v1::CampaignSpec spec;
  ASSIGN_OR_RETURN(const std::vector<std::string> nodes, NodesOf(client, arguments, "nodes"));
  spec.mutable_nodes()->Assign(nodes.begin(), nodes.end());
  for (const std::uint32_t rail : arguments.Numbers("rails")) spec.add_rails(rail);
  spec.set_until_decided(arguments.Bool("until-decided"));
  RETURN_IF_ERROR(ReadProbes(arguments, spec));
  RETURN_IF_ERROR(ReadPairs(arguments, spec));
  return spec;
}

}  // namespace fabric::ctl
