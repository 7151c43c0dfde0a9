#include <cerrno>
#include <cstdio>

#include "base/text.h"
#include "ctl/campaign_spec.h"
#include "ctl/certificates.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "ctl/render.h"

namespace fabric::ctl {
namespace {

constexpr Duration kCertifyPollInterval = std::chrono::milliseconds(250);
// Extra time for the controller to finish after the time limit.
constexpr Duration kGrace = std::chrono::seconds(15);

constexpr Option kCertifyOptions[] = {
    NodesOption("nodes",
                "Nodes to certify: n1,n2, gpu[001-016,20], pool=h100,rack!=r12, @FILE, or - for "
                "standard input.",
                true),
    {.name = "job", .value = "ID", .doc = "Job ID of the scheduler. Only shown."},
    {.name = "rails",
     .type = OptionType::kNumbers,
     .value = "RAILS",
     .doc = "Only these rails: 0,1."},
    {.name = "within",
     .type = OptionType::kDuration,
     .fallback = "60s",
     .doc = "Time limit, 2s to 1h. Pairs not probed by then are listed as not covered."},
    kDscpOption,
    kTrafficClassOption,
    kServiceLevelOption,
    kGidIndexOption,
    kPkeyOption,
    kCompareDefaultOption,
    {.name = "out",
     .type = OptionType::kPath,
     .doc = "Also write the signed certificate to this file."},
};

Result<v1::CertificateRequest> RequestOf(Client& client, const Arguments& arguments) {
  v1::CertificateRequest request;
  ASSIGN_OR_RETURN(const std::vector<std::string> nodes, NodesOf(client, arguments, "nodes"));
  request.mutable_nodes()->Assign(nodes.begin(), nodes.end());
  for (const std::uint32_t rail : arguments.Numbers("rails")) request.add_rails(rail);
  request.set_job_id(arguments.Text("job"));
  ASSIGN_OR_RETURN(*request.mutable_class_choice(), ReadClass(arguments));
  if (request.class_choice().ByteSizeLong() == 0) request.clear_class_choice();
  const Duration within = arguments.Duration("within");
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(within);
  if (seconds != within || within < std::chrono::seconds(2) || within > std::chrono::hours(1))
    return Status(
        Code::kInvalidArgument,
        Format("--within: expected whole seconds from 2s to 1h, saw {}", arguments.Text("within")));
  request.set_within_seconds(static_cast<std::uint32_t>(seconds.count()));
  return request;
}

// Writes a temporary file and renames it, so that readers never see a partial file.
Status WriteFile(const std::string& path, const std::string& text) {
  const std::string next = path + ".new";
  std::FILE* const file = std::fopen(next.c_str(), "wb");
  if (file == nullptr) return FromErrno(errno, next);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) return FromErrno(errno == 0 ? EIO : errno, next);
  return std::rename(next.c_str(), path.c_str()) == 0 ? Status() : FromErrno(errno, path);
}

Result<v1::GetCertificateResponse> WaitFor(Client& client, const v1::Certificate& started,
                                           Stream& stream) {
  v1::GetCertificateRequest get;
  get.set_id(started.id());
  const Duration most = std::chrono::seconds(started.request().within_seconds()) + kGrace;
  for (Duration waited{}; waited < most; waited += kCertifyPollInterval) {
    ASSIGN_OR_RETURN(v1::GetCertificateResponse answer,
                     client.Call<v1::GetCertificateResponse>(get));
    if (answer.certificate().state() == v1::CERTIFICATE_STATE_DONE) return answer;
    stream.Progress(Format("{}: {} s of at most {} s", started.id(),
                           std::chrono::duration_cast<std::chrono::seconds>(waited).count(),
                           started.request().within_seconds()));
    if (stream.Wait(kCertifyPollInterval)) continue;
    if (!started.campaign().empty()) {
      v1::CancelCampaignRequest cancel;
      cancel.set_id(started.campaign());
      RETURN_IF_ERROR(client.Call<v1::Campaign>(cancel).status());
    }
    return Status(Code::kCancelled, "interrupted; no certificate was issued");
  }
  return Status(Code::kDeadlineExceeded,
                Format("{} is not done after its time limit", started.id()));
}

Result<Output> RunCertify(Client& client, const Arguments& arguments, Stream& stream) {
  v1::StartCertificateRequest start;
  ASSIGN_OR_RETURN(*start.mutable_request(), RequestOf(client, arguments));
  stream.CatchInterrupts();
  ASSIGN_OR_RETURN(const v1::Certificate started, client.Call<v1::Certificate>(start));
  ASSIGN_OR_RETURN(v1::GetCertificateResponse answer, WaitFor(client, started, stream));
  const std::string text = JwsText({.header = answer.signed_().protected_header(),
                                    .payload = answer.signed_().payload(),
                                    .signature = answer.signed_().signature()});
  if (arguments.Has("out")) RETURN_IF_ERROR(WriteFile(arguments.Text("out"), text));
  Output output = CertificateOutput(std::move(*answer.mutable_certificate()));
  if (FormatNamed(arguments.Text("output")) == OutputFormat::kJson) {
    if (!stream.Write(text)) return Status(Code::kInternal, "cannot write to standard output");
    output.message.reset();
  }
  return output;
}

}  // namespace

extern const Command certify = {
    .path = "certify",
    .summary = "Issue a signed certificate for a list of nodes before a job starts.",
    .description =
        "Checks the open findings of the nodes and probes their ports with each other: all pairs "
        "if time allows, else a sample. PASS means that every node passes; FAIL names the failed "
        "nodes; UNKNOWN means that some results are missing. The output lists the pairs and nodes "
        "that were not covered. -o json prints the signed certificate (JSON Web Signature), -o "
        "yaml its content, -o name the failed nodes. Exits with 0 for PASS, 1 for FAIL and 6 for "
        "UNKNOWN.",
    .example =
        "fabricctl certify --nodes gpu[001-016] --job 4711 --out cert.json\n"
        "fabricctl certify --nodes @nodes.txt --within 30s --dscp 26",
    .options = kCertifyOptions,
    .run = RunCertify,
};

}  // namespace fabric::ctl
