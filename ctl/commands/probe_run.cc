#include "base/text.h"
#include "ctl/arguments.h"
#include "ctl/campaign_spec.h"
#include "ctl/client.h"
#include "ctl/tables/campaign_tables.h"

namespace fabric::ctl {
namespace {

constexpr Duration kPollInterval = std::chrono::milliseconds(250);

constexpr Option kOptions[] = {
    {.name = "--nodes",
     .kind = Option::Kind::kWords,
     .value = "NAMES",
     .help = "Only pairs of these nodes, such as a job's: n1,n2."},
    {.name = "--rails",
     .kind = Option::Kind::kNumbers,
     .value = "RAILS",
     .help = "Only these rails: 0,1."},
    {.name = "--kind",
     .kind = Option::Kind::kWords,
     .value = "KINDS",
     .help =
         "What to measure, one after the other: latency, bandwidth (of RC writes), both, ping, "
         "mtu, or by its name: rc_write_latency, rc_read_latency, rc_send_latency, "
         "rc_write_bandwidth, rc_read_bandwidth, rc_send_bandwidth, ud_ping, path_mtu, gpu_memory, "
         "incast (alone, with --hub).",
     .fallback = kKindFallback},
    kPatternOption,
    kHubOption,
    kDegreeOption,
    kSeedOption,
    {.name = "--until-decided",
     .kind = Option::Kind::kFlag,
     .help = "End as soon as it is decided who is to blame, or that nobody is."},
    kPairsAtOnceOption,
    kPairsPerUplinkOption,
    kIncludeBusyOption,
    {.name = "--iterations",
     .kind = Option::Kind::kNumber,
     .value = "COUNT",
     .help = "Messages of each probe; the agents' default when not given."},
    {.name = "--bytes",
     .kind = Option::Kind::kNumber,
     .value = "COUNT",
     .help = "Bytes of each message; the agents' default when not given."},
    {.name = "--queue-pairs",
     .kind = Option::Kind::kNumber,
     .value = "COUNT",
     .help = "Queue pairs of a bandwidth probe; one when not given."},
    {.name = "--queue-depth",
     .kind = Option::Kind::kNumber,
     .value = "COUNT",
     .help = "Outstanding messages of each queue pair of a bandwidth probe."},
    {.name = "--bidirectional",
     .kind = Option::Kind::kFlag,
     .help = "Both ends of a bandwidth probe send at the same time."},
    {.name = "--pings",
     .kind = Option::Kind::kNumber,
     .value = "COUNT",
     .help = "Pings of ud_ping; 100 when not given."},
    {.name = "--interval",
     .kind = Option::Kind::kDuration,
     .value = "DURATION",
     .help = "Between two pings; 1ms when not given."},
    {.name = "--flow-labels",
     .kind = Option::Kind::kNumbers,
     .value = "LABELS",
     .help = "Pings take turns with these: 1,2,3. Each may take another path."},
    {.name = "--duration",
     .kind = Option::Kind::kDuration,
     .value = "DURATION",
     .help = "Of an incast's burst; 200ms when not given, at most 2s."},
    {.name = "--gpus",
     .kind = Option::Kind::kWords,
     .value = "ADDRESSES",
     .help = "GPUs of gpu_memory by PCI address, at the initiator; the nearest when not given."},
    {.name = "--traffic-class",
     .kind = Option::Kind::kNumber,
     .value = "NUMBER",
     .help = "Of RoCE packets: four times the DSCP."},
    {.name = "--service-level",
     .kind = Option::Kind::kNumber,
     .value = "NUMBER",
     .help = "Of InfiniBand packets."},
    {.name = "--gid-index",
     .kind = Option::Kind::kNumber,
     .value = "INDEX",
     .help = "GID that both ends use; chosen by the agents when not given."},
    {.name = "--probe-timeout",
     .kind = Option::Kind::kDuration,
     .value = "DURATION",
     .help = "How long one probe may take, set-up included; the controller's default when not "
             "given."},
    {.name = "--no-wait",
     .kind = Option::Kind::kFlag,
     .help = "Start the campaign and leave: `probe show` and `matrix` tell the results."},
};

Result<v1::CampaignSpec> SpecOf(const Arguments& arguments) {
  v1::CampaignSpec spec;
  for (const std::string& name : arguments.Words("--nodes")) spec.add_nodes(name);
  for (const std::uint32_t rail : arguments.Numbers("--rails")) spec.add_rails(rail);
  spec.set_until_decided(arguments.Flag("--until-decided"));
  RETURN_IF_ERROR(ReadProbes(arguments, spec));
  RETURN_IF_ERROR(ReadPairs(arguments, spec));
  return spec;
}

Result<Output> RunProbeRun(Client& client, const Arguments& arguments, Stream& stream) {
  v1::StartCampaignRequest start;
  ASSIGN_OR_RETURN(*start.mutable_spec(), SpecOf(arguments));
  ASSIGN_OR_RETURN(v1::Campaign campaign, client.Call<v1::Campaign>(start));
  if (arguments.Flag("--no-wait")) {
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
      ASSIGN_OR_RETURN(campaign, client.Call<v1::Campaign>(cancel));
      return Status(Code::kCancelled, Format("interrupted; campaign {} is cancelled, its results "
                                             "so far: probe show {}",
                                             campaign.id(), campaign.id()));
    }
    ASSIGN_OR_RETURN(campaign, client.Call<v1::Campaign>(get));
  }
  get.set_omit_results(false);
  ASSIGN_OR_RETURN(campaign, client.Call<v1::Campaign>(get));
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
