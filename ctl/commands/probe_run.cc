#include "base/text.h"
#include "ctl/campaign_spec.h"
#include "ctl/campaign_wait.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/campaign_tables.h"

namespace fabric::ctl {
namespace {

constexpr Option kNoWaitOption = {
    .name = "no-wait",
    .type = OptionType::kBool,
    .doc = "Start the campaign and return; use `probe show` or `matrix` for results."};

std::span<const Option> ProbeRunOptions() {
  static const std::vector<Option> options = [] {
    std::vector<Option> all = CampaignOptions();
    all.push_back(kNoWaitOption);
    return all;
  }();
  return options;
}

constexpr Option kProbeRecheckOptions[] = {
    {.name = "FINDING",
     .value = "FINDING",
     .doc = "ID of a finding of rule probe_blame. Default: all that campaigns or the mesh located.",
     .repeated = true},
    kNoWaitOption,
};

// Before a campaign starts that Follow() waits for, so that no interrupt leaves it behind.
void CatchUnlessNoWait(const Arguments& arguments, Stream& stream) {
  if (!arguments.Bool("no-wait")) stream.CatchInterrupts();
}

// Waits for the end of a campaign that has started, unless --no-wait is set.
Result<Output> Follow(Client& client, v1::Campaign campaign, const Arguments& arguments,
                      Stream& stream) {
  if (arguments.Bool("no-wait")) {
    Output output = CampaignOutput(std::move(campaign));
    output.tables.clear();
    return output;
  }
  const std::string id = campaign.id();
  ASSIGN_OR_RETURN(campaign, WaitForCampaign(client, std::move(campaign), stream, [&]() -> Status {
                     v1::CancelCampaignRequest cancel;
                     cancel.set_id(id);
                     RETURN_IF_ERROR(client.Call<v1::Campaign>(cancel).status());
                     return {Code::kCancelled,
                             Format("interrupted; campaign {} is cancelled; for its results use "
                                    "`fabricctl probe show {}`",
                                    id, id)};
                   }));
  return CampaignOutput(std::move(campaign));
}

Result<Output> RunProbeRun(Client& client, const Arguments& arguments, Stream& stream) {
  v1::StartCampaignRequest start;
  ASSIGN_OR_RETURN(*start.mutable_spec(), ReadCampaign(client, arguments));
  CatchUnlessNoWait(arguments, stream);
  ASSIGN_OR_RETURN(v1::Campaign campaign, client.Call<v1::Campaign>(start));
  return Follow(client, std::move(campaign), arguments, stream);
}

Result<Output> RunProbeRecheck(Client& client, const Arguments& arguments, Stream& stream) {
  v1::RecheckFindingsRequest request;
  const std::vector<std::string> findings = arguments.All("FINDING");
  request.mutable_findings()->Assign(findings.begin(), findings.end());
  CatchUnlessNoWait(arguments, stream);
  ASSIGN_OR_RETURN(v1::Campaign campaign, client.Call<v1::Campaign>(request));
  return Follow(client, std::move(campaign), arguments, stream);
}

}  // namespace

extern const Command probe_recheck = {
    .path = "probe recheck",
    .summary = "Probe the parts of located faults again, after a repair.",
    .description =
        "Runs a short campaign over the ports of findings of rule probe_blame and a few others, in "
        "the class of traffic of the findings. A finding is resolved if the fault is gone. fabricd "
        "does the same by itself after another finding about the same part is resolved. Ports that "
        "carry traffic are skipped. Exits as `probe run`.",
    .example =
        "fabricctl probe recheck\n"
        "fabricctl probe recheck 6d1f --no-wait",
    .options = kProbeRecheckOptions,
    .run = RunProbeRecheck,
};

extern const Command probe_run = {
    .path = "probe run",
    .summary = "Run probes between RDMA ports and show the results.",
    .description =
        "Pairs run in rounds; each port is in at most one pair of a round. A first round finds "
        "unreachable ports and excludes them. Ports that carry traffic are skipped. The located "
        "faults, or the remaining candidates, are below the results. With --kind incast all nodes "
        "write to --hub at the same time; the counters of all ends show whether PFC prevented "
        "loss. --preset quick probes each port with 3 others, until decided; standard with 8, and "
        "also pings over 8 flow labels; thorough probes all pairs with two sizes, reads and path "
        "MTU: see docs/PROBES.md. An interrupt (Ctrl-C, a closed terminal or SSH session) cancels "
        "the "
        "campaign; with --no-wait it continues without this command. Exits with 1 if a probe "
        "failed or was slower than expected, a fault was located or an incast lost packets. "
        "Skipped ports do not change the exit status: -o json has them in `skipped`.",
    .example =
        "fabricctl probe run --pattern random-regular --kind ping --until-decided\n"
        "fabricctl probe run --nodes gpu[001-016] --preset quick",
    .run = RunProbeRun,
    .schema_options = ProbeRunOptions,
};

}  // namespace fabric::ctl
