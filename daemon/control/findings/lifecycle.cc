#include "daemon/control/findings/lifecycle.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <utility>

#include "proto/timestamps.h"

namespace fabric::control {
namespace {

// The result of the rule, without read times and without the state of the finding.
v1::Finding Judgement(const v1::Finding& finding) {
  v1::Finding judgement = finding;
  judgement.clear_state();
  judgement.clear_opened_at();
  judgement.clear_changed_at();
  judgement.clear_resolved_at();
  judgement.clear_acknowledged();
  judgement.clear_silenced();
  judgement.clear_flapping();
  judgement.clear_openings();
  judgement.clear_expired_reason();
  for (v1::Evidence& evidence : *judgement.mutable_evidence()) evidence.clear_read_at();
  return judgement;
}

}  // namespace

bool SameJudgement(const v1::Finding& a, const v1::Finding& b) {
  return google::protobuf::util::MessageDifferencer::Equals(Judgement(a), Judgement(b));
}

FindingLifecycle::FindingLifecycle(const v1::Finding& open, Moment now) {
  // The times of its openings are not stored; at least the flapping state is kept.
  const Duration age = open.flapping()
                           ? Duration::zero()
                           : std::max(now.wall - FromProto(open.opened_at()), Duration::zero());
  openings_.assign(open.openings(), now.steady - age);
  Forget(now);
}

Step FindingLifecycle::Found(std::optional<v1::Finding>& finding, v1::Finding judgement, bool young,
                             Moment now) {
  if (!finding && young) {
    waiting_ = std::move(judgement);
    return Step::kNone;
  }
  if (!finding) return Open(finding, std::move(judgement), now);
  judgement.set_state(v1::FINDING_STATE_OPEN);
  *judgement.mutable_opened_at() = finding->opened_at();
  *judgement.mutable_changed_at() = finding->changed_at();
  judgement.set_flapping(finding->flapping());
  judgement.set_openings(finding->openings());
  if (finding->has_acknowledged())
    judgement.mutable_acknowledged()->Swap(finding->mutable_acknowledged());
  if (finding->has_silenced()) judgement.mutable_silenced()->Swap(finding->mutable_silenced());
  const bool same = SameJudgement(*finding, judgement);
  if (!same) *judgement.mutable_changed_at() = ToProto(now.wall);
  finding = std::move(judgement);
  if (std::exchange(gone_at_, std::nullopt)) CountOpening(*finding, now);
  return same ? Step::kNone : Step::kChanged;
}

Step FindingLifecycle::Gone(std::optional<v1::Finding>& finding, Duration flap_hold, Moment now) {
  waiting_.reset();
  if (!finding) return Step::kNone;
  if (!finding->flapping() || flap_hold <= Duration::zero()) return Resolve(*finding, now);
  if (!gone_at_) gone_at_ = now.steady;
  return Step::kNone;
}

void FindingLifecycle::Unknown() {
  waiting_.reset();
  gone_at_.reset();
}

Step FindingLifecycle::Tick(std::optional<v1::Finding>& finding, bool young, Duration flap_hold,
                            Moment now) {
  Forget(now);
  if (waiting_ && !young) return Open(finding, *std::exchange(waiting_, std::nullopt), now);
  if (!finding) return Step::kNone;
  if (gone_at_ && now.steady - *gone_at_ >= flap_hold) return Resolve(*finding, now);
  finding->set_openings(static_cast<std::uint32_t>(openings_.size()));
  // Present without a break for the whole window: no longer flapping.
  if (!finding->flapping() || gone_at_ || !openings_.empty()) return Step::kNone;
  finding->set_flapping(false);
  *finding->mutable_changed_at() = ToProto(now.wall);
  return Step::kChanged;
}

Step FindingLifecycle::Open(std::optional<v1::Finding>& finding, v1::Finding judgement,
                            Moment now) {
  finding = std::move(judgement);
  finding->set_state(v1::FINDING_STATE_OPEN);
  *finding->mutable_opened_at() = ToProto(now.wall);
  *finding->mutable_changed_at() = ToProto(now.wall);
  waiting_.reset();
  CountOpening(*finding, now);
  return Step::kOpened;
}

void FindingLifecycle::CountOpening(v1::Finding& finding, Moment now) {
  Forget(now);
  openings_.push_back(now.steady);
  finding.set_openings(static_cast<std::uint32_t>(openings_.size()));
  if (openings_.size() >= kFlappingOpenings) finding.set_flapping(true);
}

void FindingLifecycle::Forget(Moment now) {
  std::erase_if(openings_, [&](SteadyTime at) { return now.steady - at >= kFlappingWindow; });
}

Step FindingLifecycle::Resolve(v1::Finding& finding, Moment now) {
  gone_at_.reset();
  finding.set_state(v1::FINDING_STATE_RESOLVED);
  *finding.mutable_resolved_at() = ToProto(now.wall);
  return Step::kResolved;
}

}  // namespace fabric::control
