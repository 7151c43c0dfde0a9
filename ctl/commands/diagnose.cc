#include <algorithm>
#include <limits>
#include <set>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "ctl/item_progress.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/finding_table.h"
#include "proto/names.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kDiagnosedMax = 256;
constexpr std::size_t kChangesBefore = 6;

constexpr Option kDiagnoseOptions[] = {
    {.name = "NODE", .value = "NODE", .doc = "Names of nodes.", .repeated = true},
    NodesOption("nodes", "Nodes, such as gpu[001-016], pool=h100, @FILE or -."),
    kSelectorOption,
    {.name = "job",
     .value = "ID",
     .doc = "Nodes of the newest certificate with this job ID (certify --job)."},
    {.name = "before",
     .type = OptionType::kDuration,
     .fallback = "1h",
     .min = "1s",
     .max = "30d",
     .doc = "Also show the settings that changed in this period before a finding opened."},
};

// fabricd knows the nodes of a job from its certificate only.
Result<v1::Certificate> CertificateOfJob(Client& client, const std::string& job) {
  if (job.find_first_of("\"\\") != job.npos)
    return Status(Code::kInvalidArgument,
                  Format("--job: expected a job ID without quotes, saw {}", Quoted(job)));
  v1::ListCertificatesRequest request;
  request.set_filter(Format("request.job_id=\"{}\"", job));
  request.set_fields("id,state,verdict,request,started_at");
  ASSIGN_OR_RETURN(auto response, client.List<v1::ListCertificatesResponse>(request));
  auto& found = *response.mutable_certificates();
  if (found.empty())
    return Status(Code::kNotFound,
                  Format("no certificate has the job ID {0}; give the nodes, with Slurm: fabricctl "
                         "diagnose --nodes \"$(squeue -j {0} -ho %N)\"",
                         job));
  return *std::ranges::max_element(found, {}, [](const v1::Certificate& certificate) {
    return Nanoseconds(certificate.started_at());
  });
}

std::string JobLine(const v1::Certificate& certificate) {
  const v1::CertificateRequest& request = certificate.request();
  const bool done = certificate.state() == v1::CERTIFICATE_STATE_DONE;
  return Format("Job {}: {} of certificate {} ({})\n", request.job_id(),
                Plural(static_cast<std::uint64_t>(request.nodes_size()), "node"), certificate.id(),
                done ? Name(certificate.verdict()) : "running");
}

// `head` gets the line about the job.
Result<std::vector<std::string>> DiagnosedNodes(Client& client, const Arguments& arguments,
                                                std::string& head) {
  std::vector<std::string> names = arguments.All("NODE");
  ASSIGN_OR_RETURN(const std::vector<std::string> more, NodesOf(client, arguments, "nodes"));
  names.insert(names.end(), more.begin(), more.end());
  if (arguments.Has("job")) {
    ASSIGN_OR_RETURN(const v1::Certificate certificate,
                     CertificateOfJob(client, arguments.Text("job")));
    head = JobLine(certificate);
    const auto& of_job = certificate.request().nodes();
    names.insert(names.end(), of_job.begin(), of_job.end());
  }
  if (names.empty())
    return Status(Code::kInvalidArgument, "expected NODE, --nodes or --job; see fabricctl nodes");
  if (names.size() > kDiagnosedMax)
    return Status(Code::kInvalidArgument,
                  Format("expected at most {} nodes, saw {}", kDiagnosedMax, names.size()));
  return names;
}

bool IsOpen(const v1::Finding& finding) {
  return finding.verdict() == v1::VERDICT_FAIL && finding.state() != v1::FINDING_STATE_RESOLVED;
}

std::vector<const v1::Finding*> RootCauses(const Findings& findings) {
  std::set<std::string_view> ids;
  for (const v1::Finding& finding : findings) ids.insert(finding.id());
  std::vector<const v1::Finding*> roots;
  for (const v1::Finding& finding : findings)
    if (IsOpen(finding) && !ids.contains(finding.explained_by())) roots.push_back(&finding);
  std::ranges::stable_sort(roots, [](const v1::Finding* one, const v1::Finding* other) {
    if (one->severity() != other->severity()) return one->severity() > other->severity();
    return Nanoseconds(one->opened_at()) < Nanoseconds(other->opened_at());
  });
  return roots;
}

std::string CauseText(const v1::Finding& finding) {
  std::string text;
  if (!finding.located_by().empty()) text += Format("  Located by: {}\n", finding.located_by());
  if (finding.common_cause())
    text += "  Scope:      the same fault on many nodes, so look for a common cause\n";
  if (!finding.explained_by().empty())
    text += Format("  Caused by:  fabricctl finding show {}\n", finding.explained_by());
  if (finding.explains_size() > 0)
    text += Format("  Explains:   {}\n",
                   Plural(static_cast<std::uint64_t>(finding.explains_size()), "other finding"));
  return text;
}

std::string WhatToType(const v1::Finding& finding) {
  if (finding.remedies().empty())
    return Format("  Next:       fabricctl finding show {}\n", finding.id());
  const v1::Remedy& remedy = finding.remedies(0);
  if (remedy.command().empty()) return Format("  Fix:        {}\n", Cell(remedy.note()));
  const std::string where = remedy.host().empty() ? "" : Format("  # on {}", remedy.host());
  std::string text = Format("  Fix:        {}{}\n", remedy.command(), where);
  if (remedy.interrupts_traffic()) text += "              interrupts traffic\n";
  return text;
}

std::string FindingText(const v1::Finding& finding, WallTime now) {
  std::string text = Format("{} {} {}: {}\n", Cell(Name(finding.severity())),
                            SubjectName(finding.subject()), finding.rule(), finding.title());
  const std::string life = StatusCell(finding);
  if (Nanoseconds(finding.opened_at()) > 0)  // Not known from files of snapshots
    text += Format("  Since:      {} ({}){}\n", ToString(finding.opened_at()),
                   AgeCell(finding.opened_at(), now), life == kAbsent ? "" : ", " + life);
  for (const v1::Evidence& evidence : finding.evidence()) {
    text += Format("  Evidence:   {}: expected {}, saw {}{}\n", evidence.what(),
                   Cell(evidence.expected()), Cell(evidence.seen()),
                   evidence.basis().empty() ? "" : Format(" ({})", evidence.basis()));
    break;
  }
  return text + CauseText(finding) + WhatToType(finding);
}

// Settings that changed up to `before` before the first of the findings opened, and since then.
Result<std::string> ChangesText(Client& client, const std::string& node,
                                const std::vector<const v1::Finding*>& roots, Duration before,
                                WallTime now) {
  WallTime first = now;
  for (const v1::Finding* root : roots)
    if (Nanoseconds(root->opened_at()) > 0) first = std::min(first, FromProto(root->opened_at()));
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(now - first + before).count();
  v1::DiffNodeRequest request;
  request.set_name(node);
  request.set_since_seconds(
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(seconds, 1, 365 * 86400)));
  const auto answer = client.Call<v1::DiffNodeResponse>(request);
  // Files of snapshots have no history.
  if (answer.status().code() == Code::kUnimplemented)
    return std::string("Settings that changed: not known without a controller.\n");
  RETURN_IF_ERROR(answer.status());
  const v1::DiffNodeResponse& response = *answer;
  std::vector<const v1::FieldDifference*> changes;
  for (const v1::FieldDifference& change : response.differences())
    if (!change.counter() && change.has_changed_at()) changes.push_back(&change);
  std::ranges::stable_sort(changes, [](const auto* one, const auto* other) {
    return Nanoseconds(one->changed_at()) > Nanoseconds(other->changed_at());
  });
  if (changes.empty()) return Format("No setting changed since {}.\n", ToString(response.since()));
  std::string text = "Settings that changed:\n";
  for (const v1::FieldDifference* change : changes) {
    if (change == changes[std::min(changes.size() - 1, kChangesBefore)] &&
        changes.size() > kChangesBefore)
      return text + Format("  {} more: fabricctl diff {} --since {}s\n",
                           changes.size() - kChangesBefore, node, request.since_seconds());
    text += Format("  {}  {}: {} -> {}\n", ToString(change->changed_at()), change->path(),
                   change->before_absent() ? std::string(kAbsent) : change->before(),
                   change->after_absent() ? std::string(kAbsent) : change->after());
  }
  return text;
}

std::string NodeHead(const v1::NodeSummary& node, std::size_t roots, WallTime now) {
  if (node.state() == v1::NODE_STATE_LOST)
    return Format("{}: lost for {}: {}; findings are of its last report\n", node.name(),
                  AgeCell(node.state_since(), now), Cell(node.lost_reason()));
  if (roots == 0)
    return Format("{}: no open findings; {} of {} ports active, {} not readable\n", node.name(),
                  node.has_ports_active() ? Format("{}", node.ports_active()) : "?", node.ports(),
                  Plural(node.gaps(), "value"));
  return Format("{}: {}\n", node.name(), Plural(roots, "cause"));
}

Result<Output> RunDiagnose(Client& client, const Arguments& arguments, Stream& stream) {
  Output output;
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   DiagnosedNodes(client, arguments, output.before));
  auto message = std::make_unique<v1::ListFindingsResponse>();
  std::set<std::string> shown;  // A finding can be about several of the nodes.
  NodeProgress progress(stream, "diagnose", names.size());
  for (const std::string& name : names) {
    progress.Next();
    v1::GetNodeRequest get;
    get.set_name(name);
    get.set_fields("summary");
    ASSIGN_OR_RETURN(const auto node, client.Call<v1::GetNodeResponse>(get));
    v1::ListFindingsRequest list;
    list.set_node(name);
    ASSIGN_OR_RETURN(const auto findings, client.List<v1::ListFindingsResponse>(list));
    const std::vector<const v1::Finding*> roots = RootCauses(findings.findings());
    if (!output.before.empty()) output.before += "\n";
    output.before += NodeHead(node.summary(), roots.size(), stream.Now());
    for (const v1::Finding* root : roots) {
      if (!shown.insert(root->id()).second) {
        output.before += Format("{}: see above\n", root->rule());
        continue;
      }
      output.before += FindingText(*root, stream.Now());
      output.names.push_back(root->id());
      *message->add_findings() = *root;
    }
    if (!roots.empty()) {
      ASSIGN_OR_RETURN(
          const std::string changes,
          ChangesText(client, name, roots, arguments.Duration("before"), stream.Now()));
      output.before += changes;
    }
    const bool lost = node.summary().state() == v1::NODE_STATE_LOST;
    if (AnyFailing(findings.findings()) || lost) output.exit_status = kExitFindings;
  }
  output.message = std::move(message);
  return output;
}

}  // namespace

extern const Command diagnose = {
    .path = "diagnose",
    .summary = "Explain the faults of nodes: causes, since when, what changed, how to fix it.",
    .description =
        "Shows each open finding of the node that no other one explains: the most severe first, "
        "with its first evidence and remedy. Findings about several nodes are included. Then "
        "follow the settings that changed shortly before the first finding opened, and since then. "
        "-o json prints these findings. Exits with 1 if a finding is open or a node is lost.",
    .example =
        "fabricctl diagnose n2\n"
        "fabricctl diagnose --nodes gpu[001-016] --before 6h\n"
        "fabricctl diagnose --job 4711",
    .options = kDiagnoseOptions,
    .run = RunDiagnose,
    .watch = true,
};

}  // namespace fabric::ctl
