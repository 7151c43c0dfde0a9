#include "daemon/operator_log.h"

#include <chrono>
#include <utility>

#include "base/text.h"
#include "daemon/access/audit_entry.h"
#include "proto/events.h"
#include "proto/labels.h"
#include "proto/names.h"
#include "proto/node_actions.h"

namespace fabric {
namespace {

bool SameTime(const google::protobuf::Timestamp& a, const google::protobuf::Timestamp& b) {
  return a.seconds() == b.seconds() && a.nanos() == b.nanos();
}

std::string NodeText(const v1::NodeSummary& node) {
  if (node.state() == v1::NODE_STATE_LOST)
    return Format("node {} lost: {}", node.name(), node.lost_reason());
  if (node.state() == v1::NODE_STATE_REMOVED)
    return Format("node {} removed{}", node.name(),
                  node.lost_reason().empty() ? "" : ": " + node.lost_reason());
  return Format("node {} connected: {} of {} ports ACTIVE, agent {}", node.name(),
                node.ports_active(), node.ports(),
                node.agent_version().empty() ? "of unknown version" : node.agent_version());
}

std::string LabelsChangeText(const v1::NodeSummary& node) {
  const std::string labels = LabelsText(node.labels());
  return Format("node {} has the labels {}", node.name(), labels.empty() ? "(none)" : labels);
}

// "opened" or "resolved"; empty for other changes.
std::string_view FindingStep(const v1::Event& event) {
  const v1::Finding& finding = event.finding();
  if (finding.state() == v1::FINDING_STATE_RESOLVED) return "resolved";
  // An opening is the only change at the time of the opening.
  const bool opened = SameTime(finding.opened_at(), event.at()) &&
                      SameTime(finding.changed_at(), event.at()) && !finding.has_acknowledged();
  return opened ? "opened" : "";
}

log::Fields FindingFields(const v1::Finding& finding) {
  log::Fields fields = {{"finding", finding.id()},
                        {"rule", finding.rule()},
                        {"severity", std::string(Name(finding.severity()))},
                        {"subject", SubjectName(finding.subject())}};
  if (!finding.subject().node().empty()) fields.push_back({"node", finding.subject().node()});
  return fields;
}

std::string CampaignText(const v1::Campaign& campaign) {
  if (!campaign.has_ended_at())
    return Format("campaign {} started: {} probes in {} rounds", campaign.id(),
                  campaign.probes_planned(), campaign.rounds());
  return Format("campaign {} {}: {} probes ok, {} failed, {} entries skipped", campaign.id(),
                Name(campaign.state()), campaign.probes_ok(), campaign.probes_failed(),
                campaign.skipped_size());
}

}  // namespace

void OperatorLog::OnEvent(const v1::Event& event) {
  if (event.has_node()) {
    const bool lost = event.node().state() == v1::NODE_STATE_LOST && !IsLabelChange(event);
    Add({lost ? log::Level::kWarning : log::Level::kInfo,
         IsLabelChange(event) ? LabelsChangeText(event.node()) : NodeText(event.node()),
         {{"node", event.node().name()}}});
  } else if (event.has_finding()) {
    const v1::Finding& finding = event.finding();
    const std::string_view step = FindingStep(event);
    if (step.empty()) return;
    const bool alarming = step == "opened" && finding.verdict() == v1::VERDICT_FAIL;
    Add({alarming ? log::Level::kWarning : log::Level::kInfo,
         Format("finding {} {}: {} {}: {}", finding.id(), step, finding.rule(),
                SubjectName(finding.subject()), finding.title()),
         FindingFields(finding)});
  } else if (event.has_campaign()) {
    Add({log::Level::kInfo, CampaignText(event.campaign()), {{"campaign", event.campaign().id()}}});
  } else if (event.has_node_action()) {
    const v1::NodeAction& action = event.node_action();
    Add({log::Level::kInfo,
         NodeActionText(action),
         {{"action", action.id()}, {"node", action.node()}}});
  }
}

void OperatorLog::OnCertificate(const v1::Certificate& certificate) {
  const std::string& job = certificate.request().job_id();
  Line line{
      log::Level::kInfo,
      Format("certificate {} issued: {} for {} node{}{}", certificate.id(),
             Name(certificate.verdict()), certificate.nodes_size(),
             certificate.nodes_size() == 1 ? "" : "s",
             job.empty() ? "" : Format(", job {}", Quoted(job))),
      {{"certificate", certificate.id()}, {"verdict", std::string(Name(certificate.verdict()))}}};
  if (!job.empty()) line.fields.push_back({"job", job});
  Add(std::move(line));
}

void OperatorLog::OnRefused(const Status& reason) {
  Add({log::Level::kWarning, Format("agent refused: {}", reason.message())});
}

void OperatorLog::OnAudit(const v1::AuditEntry& entry) {
  const bool denied = entry.outcome() == v1::AUDIT_OUTCOME_DENIED;
  Line line{denied ? log::Level::kWarning : log::Level::kInfo,
            access::ToLine(entry),
            {{"audit", Format("{}", entry.sequence())},
             {"identity", entry.identity()},
             {"method", entry.method()},
             {"target", entry.target()},
             {"hash", entry.hash()}}};
  const MutexLock lock(mutex_);
  if (audit_lines_.size() < kAuditLinesMax)
    audit_lines_.push_back(std::move(line));
  else
    ++omitted_;
}

void OperatorLog::OnLongTurn(const control::LongTurn& turn) {
  const auto milliseconds = [](Duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
  };
  Add({log::Level::kWarning,
       Format(
           "turn of the controller ({}{}{}) took {:.0f} ms, expected at most {:.0f} ms; it waited "
           "{:.0f} ms",
           control::TurnKindName(turn.kind), turn.detail.empty() ? "" : " ", turn.detail,
           milliseconds(turn.length), milliseconds(control::TurnRecorder::kLong),
           milliseconds(turn.waited))});
}

void OperatorLog::Add(Line line) {
  const MutexLock lock(mutex_);
  if (lines_.size() < kLinesMax)
    lines_.push_back(std::move(line));
  else
    ++omitted_;
}

void OperatorLog::Flush(const store::Condition& store) {
  std::vector<Line> lines;
  {
    const MutexLock lock(mutex_);
    lines.swap(lines_);
    lines.insert(lines.end(), audit_lines_.begin(), audit_lines_.end());
    audit_lines_.clear();
    if (const std::uint64_t omitted = std::exchange(omitted_, 0); omitted > 0)
      lines.push_back({log::Level::kWarning,
                       Format("{} log lines omitted: more than {} at once", omitted, kLinesMax)});
    const bool fails = !store.failure.ok();
    if (std::exchange(store_fails_, fails) != fails)
      lines.push_back(
          fails ? Line{log::Level::kError,
                       Format("cannot write to the state file, keeping changes in memory: {}",
                              store.failure.message())}
                : Line{log::Level::kInfo,
                       Format("the state file is complete again: {} writes were lost",
                              store.dropped - std::exchange(dropped_logged_, store.dropped))});
  }
  for (const Line& line : lines) write_(line.level, line.text, line.fields);
}

}  // namespace fabric
