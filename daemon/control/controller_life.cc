// The query functions of Controller about one finding and about silences.
#include <utility>

#include "base/text.h"
#include "daemon/control/controller.h"
#include "daemon/control/findings/affected_nodes.h"
#include "daemon/control/findings/finding_registry.h"
#include "daemon/control/outbox.h"

namespace fabric::control {

// With what depends on the moment.
v1::Finding Controller::Shown(v1::Finding finding) const {
  if (finding.state() == v1::FINDING_STATE_OPEN) finding.set_expired(ExpiryReason(finding, fleet_));
  return finding;
}

Status Controller::GetFinding(const v1::GetFindingRequest& request,
                              v1::GetFindingResponse& response) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(v1::Finding finding, findings_->Find(request.id()));
  ASSIGN_OR_RETURN(const std::vector<v1::FindingRecord> history,
                   outbox_->store().FindingHistory(finding.id()));
  *response.mutable_finding() = Shown(std::move(finding));
  for (const v1::FindingRecord& record : history) *response.add_history() = record;
  return {};
}

Status Controller::AcknowledgeFinding(const v1::AcknowledgeFindingRequest& request,
                                      v1::Finding& finding, Moment now) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(v1::Finding acknowledged, findings_->Acknowledge(request, now));
  finding = Shown(std::move(acknowledged));
  return {};
}

Status Controller::CreateSilence(const v1::CreateSilenceRequest& request, v1::Silence& silence,
                                 Moment now) {
  const MutexLock lock(mutex_);
  const v1::Silence& wanted = request.silence();
  if (!wanted.rule().empty()) RETURN_IF_ERROR(CheckRule(wanted.rule()));
  if (!wanted.node().empty()) RETURN_IF_ERROR(CheckNode(wanted.node()));
  ASSIGN_OR_RETURN(silence, findings_->AddSilence(request, now));
  return {};
}

Status Controller::ListSilences(const v1::ListSilencesRequest&,
                                v1::ListSilencesResponse& response) {
  const MutexLock lock(mutex_);
  for (v1::Silence& silence : findings_->silences().all())
    *response.add_silences() = std::move(silence);
  return {};
}

Status Controller::DeleteSilence(const v1::DeleteSilenceRequest& request, v1::Silence& silence,
                                 Moment now) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(silence, findings_->EndSilence(request, now));
  return {};
}

}  // namespace fabric::control
