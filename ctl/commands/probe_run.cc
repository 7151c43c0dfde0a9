#include "base/text.h"
#include "ctl/campaign_spec.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/campaign_tables.h"

namespace fabric::ctl {
namespace {

constexpr Duration kPollInterval = std::chrono::milliseconds(250);

constexpr Option kProbeRunOptions[] = {
    {.name = "nodes",
     .type = OptionType::kWords,
     .value = "NAMES",
     .doc = "Probe only pairs of these nodes: n1,n2."},
    {.name = "rails",
     .type = OptionType::kNumbers,
     .value = "RAILS",
     .doc = "Probe only these rails: 0,1."},
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
    {.name = "iterations",
     .type = OptionType::kNumber,
     .value = "COUNT",
     .doc = "Messages per probe. Default: set by the agent."},
    {.name = "bytes",
     .type = OptionType::kSize,
     .max = "1GiB",
     .doc = "Message size: 4096, 64KiB or 8M. Default: set by the agent."},
    {.name = "queue-pairs",
     .type = OptionType::kNumber,
     .value = "COUNT",
     .doc = "Queue pairs of a bandwidth probe. Default: 1."},
    {.name = "queue-depth",
     .type = OptionType::kNumber,
     .value = "COUNT",
     .doc = "Outstanding messages per queue pair of a bandwidth probe."},
    {.name = "bidirectional",
     .type = OptionType::kBool,
     .doc = "Send from both ends of a bandwidth probe at the same time."},
    {.name = "pings",
     .type = OptionType::kNumber,
     .value = "COUNT",
     .doc = "Number of pings of ud_ping. Default: 100."},
    {.name = "interval",
     .type = OptionType::kDuration,
     .max = "60s",
     .doc = "Interval between pings. Default: 1ms."},
    {.name = "flow-labels",
     .type = OptionType::kNumbers,
     .value = "LABELS",
     .doc = "Flow labels of the pings, used in turn: 1,2,3. Each can take a different path."},
    {.name = "duration",
     .type = OptionType::kDuration,
     .min = "1ms",
     .max = "2s",
     .doc = "Duration of an incast burst. Default: 200ms."},
    {.name = "gpus",
     .type = OptionType::kWords,
     .value = "ADDRESSES",
     .doc = "PCI addresses of the GPUs of gpu_memory, at the initiator. Default: the nearest GPU."},
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
    {.name = "no-wait",
     .type = OptionType::kBool,
     .doc = "Start the campaign and return; use `probe show` or `matrix` for results."},
};

Result<v1::CampaignSpec> SpecOf(const Arguments& arguments) {
  v1::CampaignSpec spec;
  for (const std::string& name : arguments.Words("nodes")) spec.add_nodes(name);
  for (const std::uint32_t rail : arguments.Numbers("rails")) spec.add_rails(rail);
  spec.set_until_decided(arguments.Bool("until-decided"));
  RETURN_IF_ERROR(ReadProbes(arguments, spec));
  RETURN_IF_ERROR(ReadPairs(arguments, spec));
  return spec;
}

Result<Output> RunProbeRun(Client& client, const Arguments& arguments, Stream& stream) {
  v1::StartCampaignRequest start;
  ASSIGN_OR_RETURN(*start.mutable_spec(), SpecOf(arguments));
  ASSIGN_OR_RETURN(v1::Campaign campaign, client.Call<v1::Campaign>(start));
  if (arguments.Bool("no-wait")) {
    Output output = CampaignOutput(std::move(campaign));
    output.tables.clear();
    return output;
  }
  v1::GetCampaignRequest get;
  get.set_id(campaign.id());
  while (campaign.state() == v1::CAMPAIGN_STATE_RUNNING) {
    stream.Progress(ProgressLine(campaign));
    if (!stream.Wait(kPollInterval)) {
      v1::CancelCampaignRequest cancel;
      cancel.set_id(campaign.id());
      ASSIGN_OR_RETURN(campaign, client.Call<v1::Campaign>(cancel));
      return Status(Code::kCancelled, Format("interrupted; campaign {} is cancelled; for its "
                                             "results use `fabricctl probe show {}`",
                                             campaign.id(), campaign.id()));
    }
    ASSIGN_OR_RETURN(campaign, client.Call<v1::Campaign>(get));
  }
  ASSIGN_OR_RETURN(campaign, CampaignWithResults(client, campaign.id()));
  return CampaignOutput(std::move(campaign));
}

}  // namespace

extern const Command probe_run = {
    .path = "probe run",
    .summary = "Run probes between RDMA ports and show the results.",
    .description =
        "Pairs run in rounds; each port is in at most one pair of a round. A first round finds "
        "unreachable ports and excludes them. Ports that carry traffic are skipped. The located "
        "faults, or the remaining candidates, are below the results. With --kind incast all nodes "
        "write to --hub at the same time; the counters of all ends show whether PFC prevented "
        "loss. An interrupt cancels the campaign. Exits with 1 if a probe failed, a fault was "
        "located or an incast lost packets.",
    .example = "fabricctl probe run --pattern random-regular --kind ping --until-decided",
    .options = kProbeRunOptions,
    .run = RunProbeRun,
};

}  // namespace fabric::ctl
