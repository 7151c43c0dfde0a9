#include "base/text.h"
#include "ctl/arguments.h"
#include "ctl/campaign_tables.h"
#include "ctl/cells.h"
#include "ctl/client.h"

namespace fabric::ctl {
namespace {

constexpr Duration kPollInterval = std::chrono::milliseconds(250);

constexpr Option kOptions[] = {
    {.name = "--nodes",
     .kind = Option::Kind::kWords,
     .value = "NAMES",
     .help = "Only pairs of these nodes: n1,n2."},
    {.name = "--rails",
     .kind = Option::Kind::kNumbers,
     .value = "RAILS",
     .help = "Only these rails: 0,1."},
    {.name = "--kind",
     .kind = Option::Kind::kChoice,
     .value = "latency|bandwidth|both",
     .help = "What to measure.",
     .fallback = "both"},
    {.name = "--iterations",
     .kind = Option::Kind::kNumber,
     .value = "COUNT",
     .help = "Writes of each probe; the agents' default when not given."},
    {.name = "--bytes",
     .kind = Option::Kind::kNumber,
     .value = "COUNT",
     .help = "Bytes of each write; the agents' default when not given."},
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
  const auto timeout_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(arguments.Time("--probe-timeout"))
          .count();
  constexpr std::int64_t kTimeoutMsMax = 3'600'000;
  if (timeout_ms > kTimeoutMsMax)
    return Status(Code::kInvalidArgument, "--probe-timeout: expected at most 1h");
  v1::CampaignSpec spec;
  for (const std::string& name : arguments.Words("--nodes")) spec.add_nodes(name);
  for (const std::uint32_t rail : arguments.Numbers("--rails")) spec.add_rails(rail);
  const std::string kind = arguments.Text("--kind");
  if (kind != "bandwidth") {
    v1::RcWriteLatency& latency = *spec.add_probes()->mutable_rc_write_latency();
    latency.set_iterations(arguments.Number("--iterations"));
    latency.set_message_bytes(arguments.Number("--bytes"));
  }
  if (kind != "latency") {
    v1::RcWriteBandwidth& bandwidth = *spec.add_probes()->mutable_rc_write_bandwidth();
    bandwidth.set_iterations(arguments.Number("--iterations"));
    bandwidth.set_message_bytes(arguments.Number("--bytes"));
  }
  for (v1::ProbeSpec& probe : *spec.mutable_probes())
    probe.set_timeout_ms(static_cast<std::uint32_t>(timeout_ms));
  return spec;
}

Output OutputOf(v1::Campaign campaign) {
  Output output;
  output.before = CampaignLine(campaign);
  output.tables.push_back(PairTable(campaign));
  output.after = SkippedLines(campaign);
  output.names.push_back(campaign.id());
  output.exit_status = CampaignExitStatus(campaign);
  output.message = std::make_unique<v1::Campaign>(std::move(campaign));
  return output;
}

Result<Output> RunProbeRun(Client& client, const Arguments& arguments, Stream& stream) {
  v1::StartCampaignRequest start;
  ASSIGN_OR_RETURN(*start.mutable_spec(), SpecOf(arguments));
  ASSIGN_OR_RETURN(v1::Campaign campaign, client.StartCampaign(start));
  if (arguments.Flag("--no-wait")) {
    Output output = OutputOf(std::move(campaign));
    output.tables.clear();
    return output;
  }
  v1::GetCampaignRequest get;
  get.set_id(campaign.id());
  get.set_omit_results(true);
  while (campaign.state() == v1::CAMPAIGN_STATE_RUNNING) {
    stream.Progress(Format("campaign {}: {} of {}, {} failed", campaign.id(),
                           campaign.probes_ok() + campaign.probes_failed(),
                           Count(campaign.probes_planned(), "probe"), campaign.probes_failed()));
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
  return OutputOf(std::move(campaign));
}

}  // namespace

extern const Command probe_run = {
    .path = "probe run",
    .summary = "Probe every pair of ports of each rail over RDMA, and show the results.",
    .description =
        "Pairs run in rounds in which no port takes part twice. An interrupt cancels the "
        "campaign. Exits with 1 when a probe failed.",
    .example = "fabricctl probe run --nodes n1,n2,n3 --rails 0 --kind latency",
    .options = kOptions,
    .run = RunProbeRun,
};

}  // namespace fabric::ctl
