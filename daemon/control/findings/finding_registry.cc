#include "daemon/control/findings/finding_registry.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "daemon/control/summaries.h"
#include "daemon/rules/causes/common_cause.h"
#include "proto/affected.h"
#include "proto/names.h"

namespace fabric::control {
namespace {

constexpr Duration kTickEvery = std::chrono::seconds(1);
constexpr std::uint32_t kMatchesMax = 5;  // Ids that an error lists for an ambiguous prefix

v1::FindingAction ActionOf(Step step) {
  switch (step) {
    case Step::kOpened: return v1::FINDING_ACTION_OPENED;
    case Step::kChanged: return v1::FINDING_ACTION_CHANGED;
    case Step::kResolved: return v1::FINDING_ACTION_RESOLVED;
    case Step::kNone: break;
  }
  return v1::FINDING_ACTION_UNSPECIFIED;
}

}  // namespace

void FindingRegistry::Restore(std::vector<v1::Finding> open, std::vector<v1::Silence> silences,
                              Moment now, Restoring restoring) {
  silences_.Restore(std::move(silences), now);
  for (v1::Finding& finding : open) {
    const std::string id = finding.id();
    Count(finding, 1);
    if (const FindingLifecycle lifecycle(finding, now); !lifecycle.idle())
      lifecycles_.insert_or_assign(id, lifecycle);
    if (restoring == Restoring::kToLead) unfound_.insert(id);  // Until the first evaluation
    open_.insert_or_assign(id, std::move(finding));
  }
  // Silences may have ended while the controller was down.
  BeginPass({.note = "silence expired"});
  while (ApplySilences(now)) {
  }
}

void FindingRegistry::ExpectAll() {
  for (const auto& [id, finding] : open_) unfound_.insert(id);
}

void FindingRegistry::Take(rules::Delta delta, const fleet::Fleet& fleet, Moment now) {
  Begin(std::move(delta));
  while (Advance(fleet, now)) {
  }
}

void FindingRegistry::Begin(rules::Delta delta) {
  counts_ = delta.counts;
  Work work;
  work.delta = std::move(delta);
  for (const v1::Finding& finding : work.delta.found) work.found.push_back(finding.id());
  work_ = std::move(work);
}

template <class List, class Apply>
bool FindingRegistry::Some(List& list, std::size_t& next, std::size_t& left, Apply apply) {
  for (; next < list.size() && left > 0; ++next, --left) apply(list[next]);
  return next < list.size();
}

bool FindingRegistry::Advance(const fleet::Fleet& fleet, Moment now) {
  if (!work_) return false;
  Work& work = *work_;
  std::size_t left = kFindingsOfStep;
  if (Some(work.delta.found, work.next_found, left,
           [&](v1::Finding& finding) { Found(std::move(finding), fleet, now); }))
    return true;
  if (Some(work.delta.gone, work.next_gone, left,
           [&](const std::string& id) { Gone(id, fleet, now); }))
    return true;
  // After all are open: a cause may be opened after its effects, or may have changed.
  if (Some(work.found, work.next_silence, left, [&](const std::string& id) {
        if (const auto at = open_.find(id); at != open_.end())
          ApplySilence(at->second, {.note = "silence on the cause ended"}, now);
      }))
    return true;
  // The nodes of these may be back.
  if (!work.rest) work.rest.emplace(unfound_.begin(), unfound_.end());
  if (Some(*work.rest, work.next_rest, left, [&](const std::string& id) {
        const auto at = open_.find(id);
        if (at != open_.end() && unfound_.contains(id) && !AffectsLostNode(at->second, fleet))
          Gone(id, fleet, now);
      }))
    return true;
  work_.reset();
  return false;
}

void FindingRegistry::Found(v1::Finding judgement, const fleet::Fleet& fleet, Moment now) {
  const std::string id = judgement.id();
  unfound_.erase(id);
  auto finding = TakeOut(id);
  FindingLifecycle& lifecycle = lifecycles_[id];
  // A finding of a lost node says that it is lost.
  const bool young = !finding && !AffectsLostNode(judgement, fleet) &&
                     AffectsBootingNode(judgement, fleet, options_.boot_grace, now);
  const Step step = lifecycle.Found(finding, std::move(judgement), young, now);
  PutBack(id, std::move(finding), lifecycle, step, now);
}

void FindingRegistry::Gone(const std::string& id, const fleet::Fleet& fleet, Moment now) {
  auto finding = TakeOut(id);
  FindingLifecycle& lifecycle = lifecycles_[id];
  Step step = Step::kNone;
  if (finding && AffectsLostNode(*finding, fleet)) {
    lifecycle.Unknown();
    unfound_.insert(id);
  } else {
    unfound_.erase(id);
    step = lifecycle.Gone(finding, options_.flap_hold, now);
  }
  PutBack(id, std::move(finding), lifecycle, step, now);
}

bool FindingRegistry::Tick(const fleet::Fleet& fleet, Moment now) {
  if (!tick_after_) {
    if (now.steady - ticked_at_ < kTickEvery) return false;
    ticked_at_ = now.steady;
    tick_after_.emplace();
    for (const v1::Silence& over : silences_.Expire(now))
      BeginPass({.note = Format("silence {} expired", over.id())});
  }
  const std::vector<std::string> due = NextDue(now);
  for (const std::string& id : due) AdvanceLifecycle(id, fleet, now);
  if (due.size() < kFindingsOfStep)
    tick_after_.reset();
  else
    tick_after_ = due.back();
  return tick_after_.has_value();
}

// Ids of the next lifecycles whose time is over. A copy: entries are erased when they advance.
std::vector<std::string> FindingRegistry::NextDue(Moment now) const {
  std::vector<std::string> due;
  for (auto at = lifecycles_.upper_bound(*tick_after_);
       at != lifecycles_.end() && due.size() < kFindingsOfStep; ++at)
    if (at->second.Due(now)) due.push_back(at->first);
  return due;
}

void FindingRegistry::AdvanceLifecycle(const std::string& id, const fleet::Fleet& fleet,
                                       Moment now) {
  FindingLifecycle& lifecycle = lifecycles_.at(id);
  auto finding = TakeOut(id);
  if (lifecycle.held_open() && AffectsLostNode(*finding, fleet)) {
    lifecycle.Unknown();
    unfound_.insert(id);
  }
  const bool young = lifecycle.waiting() &&
                     AffectsBootingNode(*lifecycle.waiting(), fleet, options_.boot_grace, now);
  const Step step = lifecycle.Tick(finding, young, options_.flap_hold, now);
  PutBack(id, std::move(finding), lifecycle, step, now);
}

// Takes a finding out of the registry while its lifecycle advances, and subtracts it from the
// counts.
std::optional<v1::Finding> FindingRegistry::TakeOut(const std::string& id) {
  const auto at = open_.find(id);
  if (at == open_.end()) return std::nullopt;
  Count(at->second, -1);
  return std::move(open_.extract(at).mapped());
}

void FindingRegistry::PutBack(const std::string& id, std::optional<v1::Finding> finding,
                              const FindingLifecycle& lifecycle, Step step, Moment now) {
  ++changes_;
  if (lifecycle.idle()) lifecycles_.erase(id);
  if (!finding) return;
  if (step == Step::kOpened)
    if (const v1::Silence* const silence = SilenceOf(*finding))
      *finding->mutable_silenced() = *silence;
  if (step != Step::kNone) Record(*finding, ActionOf(step), {}, now);
  if (step == Step::kResolved) return;
  Count(*finding, 1);
  open_.emplace(id, *std::move(finding));
}

std::string FindingRegistry::OrderKey(const v1::Finding& finding) {
  return Format("{}\x1f{}\x1f{}\x1f{}", 9 - static_cast<int>(finding.severity()),
                SubjectName(finding.subject()), finding.rule(), finding.id());
}

// `change` is 1 or -1.
void FindingRegistry::Count(const v1::Finding& finding, int change) {
  ++changes_;
  if (counter_) counter_(finding, change);
  if (change > 0)
    ordered_.insert_or_assign(OrderKey(finding), finding.id());
  else
    ordered_.erase(OrderKey(finding));
  // A common cause is counted by the findings that it summarizes.
  if (finding.verdict() != v1::VERDICT_FAIL || finding.common_cause()) return;
  for (const std::string& node : NodesOf(finding)) {
    std::uint32_t& failing = failing_[node];
    failing += static_cast<std::uint32_t>(change);
    if (failing == 0) failing_.erase(node);
  }
}

std::vector<v1::Finding> FindingRegistry::Failing() const {
  std::vector<v1::Finding> failing;
  for (const auto& [id, finding] : open_)
    if (finding.verdict() == v1::VERDICT_FAIL) failing.push_back(finding);
  return failing;
}

bool FindingRegistry::ReadForBlame(std::string& after, std::vector<v1::Finding>& findings) const {
  return ReadFailing(after, [&](const v1::Finding& finding) {
    if (finding.has_suspect()) return;
    v1::Finding& read = findings.emplace_back();
    read.set_id(finding.id());
    *read.mutable_subject() = finding.subject();
  });
}

std::vector<v1::Finding> FindingRegistry::ForBlame() const {
  std::vector<v1::Finding> all;
  std::string after;
  while (ReadForBlame(after, all)) {
  }
  return all;
}

v1::Finding FindingRegistry::WithExpiry(v1::Finding finding, const fleet::Fleet& fleet) const {
  if (unfound_.contains(finding.id())) finding.set_expired_reason(ExpiryReason(finding, fleet));
  return finding;
}

std::uint32_t FindingRegistry::FailingOn(const std::string& node) const {
  const auto found = failing_.find(node);
  return found == failing_.end() ? 0 : found->second;
}

Result<v1::Finding> FindingRegistry::Find(const std::string& id) const {
  if (id.empty())
    return Status(Code::kInvalidArgument, "id: expected the id of a finding, or a prefix of it");
  if (const auto at = open_.find(id); at != open_.end()) return at->second;
  // The store also has resolved findings; findings that it failed to store are in the registry
  // only.
  std::map<std::string, v1::Finding> matches;
  ASSIGN_OR_RETURN(std::vector<v1::Finding> stored, outbox_.store().FindingsFrom(id, kMatchesMax));
  for (v1::Finding& finding : stored) {
    if (finding.id() == id) return std::move(finding);
    std::string key = finding.id();
    matches.insert_or_assign(std::move(key), std::move(finding));
  }
  for (auto at = open_.lower_bound(id); at != open_.end() && at->first.starts_with(id); ++at) {
    matches.insert_or_assign(at->first, at->second);
    if (matches.size() > kMatchesMax) break;
  }
  if (matches.size() == 1) return std::move(matches.begin()->second);
  std::vector<std::string> known;
  for (const auto& [other, finding] : matches.empty() ? open_ : matches) known.push_back(other);
  if (matches.empty()) return NoSuch("finding", id, known);
  return Status(Code::kInvalidArgument, Format("id: the prefix {} matches several findings: {}",
                                               Quoted(id), Join(known, ", ")));
}

Result<v1::Finding> FindingRegistry::Acknowledge(const v1::AcknowledgeFindingRequest& request,
                                                 Moment now) {
  RETURN_IF_ERROR(RequireAuthor(request.author()));
  RETURN_IF_ERROR(CheckWords("note", request.note()));
  ASSIGN_OR_RETURN(const v1::Finding found, Find(request.id()));
  const auto at = open_.find(found.id());
  if (at == open_.end())
    return Status(Code::kFailedPrecondition,
                  Format("finding {} was resolved at {}: only open findings can be acknowledged",
                         found.id(), ToString(found.resolved_at())));
  v1::Finding finding = at->second;
  v1::Acknowledgement& acknowledged = *finding.mutable_acknowledged();
  acknowledged.set_author(request.author());
  acknowledged.set_note(request.note());
  *acknowledged.mutable_at() = ToProto(now.wall);
  const v1::FindingRecord record =
      RecordOf(finding, v1::FINDING_ACTION_ACKNOWLEDGED, {request.author(), request.note()}, now);
  RETURN_IF_ERROR(outbox_.store().Durably(
      [&](store::Store& store) { return store.PutFinding(finding, record); }));
  at->second = finding;
  ++changes_;
  Publish(finding, now);
  return finding;
}

Result<v1::Silence> FindingRegistry::AddSilence(const v1::CreateSilenceRequest& request,
                                                Moment now) {
  v1::Silence wanted = request.silence();
  if (!wanted.finding().empty()) {
    ASSIGN_OR_RETURN(const v1::Finding finding, Find(wanted.finding()));
    wanted.set_finding(finding.id());
  }
  ASSIGN_OR_RETURN(v1::Silence silence,
                   silences_.Add(std::move(wanted), request.duration_seconds(), now));
  const Status stored = Store(silence);
  if (!stored.ok()) {
    silences_.Remove(silence.id());
    return stored;
  }
  BeginPass({});
  ApplySilences(now);
  return silence;
}

Result<v1::Silence> FindingRegistry::EndSilence(const v1::DeleteSilenceRequest& request,
                                                Moment now) {
  RETURN_IF_ERROR(CheckAuthor(request.author()));
  ASSIGN_OR_RETURN(v1::Silence silence, silences_.Get(request.id()));
  *silence.mutable_until() = ToProto(now.wall);
  RETURN_IF_ERROR(Store(silence));
  silences_.Remove(silence.id());
  BeginPass({request.author(), Format("silence {} ended", silence.id())});
  ApplySilences(now);
  return silence;
}

Status FindingRegistry::Store(const v1::Silence& silence) {
  return outbox_.store().Durably([&](store::Store& store) { return store.PutSilence(silence); });
}

// A silence of a cause also applies to the findings that it explains.
const v1::Silence* FindingRegistry::SilenceOf(const v1::Finding& finding) const {
  if (const v1::Silence* const own = silences_.Match(finding)) return own;
  const auto cause = open_.find(finding.explained_by());
  return cause == open_.end() ? nullptr : silences_.Match(cause->second);
}

// Marks the finding with its active silence. `why`: the note when none is active any more. True:
// the finding has changed.
bool FindingRegistry::ApplySilence(v1::Finding& finding, const Said& why, Moment now) {
  const v1::Silence* const silence = SilenceOf(finding);
  if (silence == nullptr) {
    if (!finding.has_silenced()) return false;
    Count(finding, -1);
    finding.clear_silenced();
    Count(finding, 1);
    Record(finding, v1::FINDING_ACTION_UNSILENCED, why, now);
    return true;
  }
  if (finding.silenced().id() == silence->id()) return false;
  Count(finding, -1);
  *finding.mutable_silenced() = *silence;
  Count(finding, 1);
  Record(finding, v1::FINDING_ACTION_SILENCED, {silence->author(), silence->reason()}, now);
  return true;
}

void FindingRegistry::BeginPass(Said why) {
  passes_.push_back({.why = std::move(why)});
}

// Each finding is compared with all silences.
bool FindingRegistry::ApplySilences(Moment now) {
  if (passes_.empty()) return false;
  Pass& pass = passes_.front();
  std::size_t compared = kComparedOfStep / std::max<std::size_t>(1, silences_.size());
  std::size_t changed = kFindingsOfStep;
  for (auto at = open_.upper_bound(pass.after); at != open_.end(); ++at) {
    if (ApplySilence(at->second, pass.why, now)) --changed;
    pass.after = at->first;
    if (changed == 0 || compared-- <= 1) return true;
  }
  passes_.pop_front();
  return !passes_.empty();
}

v1::FindingRecord FindingRegistry::RecordOf(const v1::Finding& finding, v1::FindingAction action,
                                            const Said& said, Moment now) {
  v1::FindingRecord record;
  *record.mutable_at() = ToProto(now.wall);
  record.set_action(action);
  record.set_title(finding.title());
  record.set_author(said.author);
  record.set_note(said.note);
  return record;
}

void FindingRegistry::Record(const v1::Finding& finding, v1::FindingAction action, const Said& said,
                             Moment now) {
  outbox_.store().PutFinding(finding, RecordOf(finding, action, said, now));
  Publish(finding, now);
}

void FindingRegistry::Publish(const v1::Finding& finding, Moment now) {
  outbox_.Publish(now, [&](v1::Event& event) { *event.mutable_finding() = finding; });
}

}  // namespace fabric::control
