#include "base/text.h"
#include "ctl/campaign_spec.h"
#include "ctl/client.h"
#include "ctl/tables/campaign_tables.h"

namespace fabric::ctl {
namespace {

constexpr Duration kPollInterval = std::chrono::milliseconds(250);

constexpr Option kOptions[] = {
    {.name = "nodes",
     .type = OptionType::kWords,
     .value = "NAMES",
     .doc = "Only pairs of these nodes, such as a job's: n1,n2."},
    {.name = "rails",
     .type = OptionType::kNumbers,
     .value = "RAILS",
     .doc = "Only these rails: 0,1."},
    {.name = "kind",
     .type = OptionType::kWords,
     .value = "KINDS",
     .fallback = kKindFallback,
     .doc =
         "What to measure, one after the other: latency, bandwidth (of RC writes), both, ping, "
         "mtu, or by its name: rc_write_latency, rc_read_latency, rc_send_latency, "
         "rc_write_bandwidth, rc_read_bandwidth, rc_send_bandwidth, ud_ping, path_mtu, gpu_memory, "
         "incast (alone, with --hub)."},
    kPatternOption,
    kHubOption,
    kDegreeOption,
    kSeedOption,
    {.name = "until-decided",
     .type = OptionType::kBool,
     .doc = "End as soon as it is decided who is to blame, or that nobody is."},
    kPairsAtOnceOption,
    kPairsPerUplinkOption,
    kIncludeBusyOption,
    {.name = "iterations",
     .type = OptionType::kNumber,
     .value = "COUNT",
     .doc = "Messages of each probe; the agents' default when not given."},
    {.name = "bytes",
     .type = OptionType::kNumber,
     .value = "COUNT",
     .doc = "Bytes of each message; the agents' default when not given."},
    {.name = "queue-pairs",
     .type = OptionType::kNumber,
     .value = "COUNT",
     .doc = "Queue pairs of a bandwidth probe; one when not given."},
    {.name = "queue-depth",
     .type = OptionType::kNumber,
     .value = "COUNT",
     .doc = "Outstanding messages of each queue pair of a bandwidth probe."},
    {.name = "bidirectional",
     .type = OptionType::kBool,
     .doc = "Both ends of a bandwidth probe send at the same time."},
    {.name = "pings",
     .type = OptionType::kNumber,
     .value = "COUNT",
     .doc = "Pings of ud_ping; 100 when not given."},
    {.name = "interval",
     .type = OptionType::kDuration,
     .max = "60s",
     .doc = "Between two pings; 1ms when not given."},
    {.name = "flow-labels",
     .type = OptionType::kNumbers,
     .value = "LABELS",
     .doc = "Pings take turns with these: 1,2,3. Each may take another path."},
    {.name = "duration",
     .type = OptionType::kDuration,
     .min = "1ms",
     .max = "2s",
     .doc = "Of an incast's burst; 200ms when not given, at most 2s."},
    {.name = "gpus",
     .type = OptionType::kWords,
     .value = "ADDRESSES",
     .doc = "GPUs of gpu_memory by PCI address, at the initiator; the nearest when not given."},
    {.name = "traffic-class",
     .type = OptionType::kNumber,
     .max = "255",
     .doc = "Of RoCE packets: four times the DSCP."},
    {.name = "service-level", .type = OptionType::kNumber, .doc = "Of InfiniBand packets."},
    {.name = "gid-index",
     .type = OptionType::kNumber,
     .value = "INDEX",
     .doc = "GID that both ends use; chosen by the agents when not given."},
    {.name = "probe-timeout",
     .type = OptionType::kDuration,
     .min = "1ms",
     .max = "1h",
     .doc = "How long one probe may take, set-up included; the controller's default when not "
            "given."},
    {.name = "no-wait",
     .type = OptionType::kBool,
     .doc = "Start the campaign and leave: `probe show` and `matrix` tell the results."},
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
  ASSIGN_OR_RETURN(v1::Campaign campaign, client.StartCampaign(start));
  if (arguments.Bool("no-wait")) {
    Output output = CampaignOutput(std::move(campaign));
    output.tables.clear();
    return output;
  }
  v1::GetCampaignRequest get;
  get.set_id(campaign.id());
  get.set_omit_results(true);
  while (campaign.state() == v1::CAMPAIGN_STATE_RUNNING) {
    stream.Progress(ProgressLine(campaign));
    if (!stream.Wait(kPollInterval)) {
      v1::CancelCampaignRequest cancel;
      cancel.set_id(campaign.id());
      ASSIGN_OR_RETURN(campaign, client.CancelCampaign(cancel));
      return Status(Code::kCancelled, Format("interrupted; campaign {} is cancelled, its results "
                                             "so far: probe show {}",
                                             campaign.id(), campaign.id()));
    }
    ASSIGN_OR_RETURN(campaign, client.GetCampaign(get));
  }
  get.set_omit_results(false);
  ASSIGN_OR_RETURN(campaign, client.GetCampaign(get));
  return CampaignOutput(std::move(campaign));
}

}  // namespace

extern const Command probe_run = {
    .path = "probe run",
    .summary = "Probe every pair of ports of each rail over RDMA, and show the results.",
    .description =
        "Pairs run in rounds in which no port takes part twice; with more than a handful, what "
        "does not answer at all is found first and left out. Ports that carry traffic are left "
        "alone. Below the results stands who is to blame for what went wrong, or between whom it "
        "is undecided. --kind incast lets all nodes write to --hub at once and says, by the "
        "counters of all ends, whether PFC kept it lossless. An interrupt cancels the campaign. "
        "Exits with 1 when a probe failed, somebody is to blame or an incast lost something.",
    .example = "fabricctl probe run --pattern random-regular --kind ping --until-decided",
    .options = kOptions,
    .run = RunProbeRun,
};

}  // namespace fabric::ctl
