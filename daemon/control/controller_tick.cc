// What the controller does as time passes.
#include <algorithm>
#include <chrono>
#include <string>

#include "base/text.h"
#include "daemon/control/controller.h"
#include "daemon/control/maintenance.h"
#include "daemon/control/node_removal.h"
#include "daemon/control/state.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

// Ticks come every 100 ms. A later one means that the controller itself did not run (a suspended or
// overloaded machine): messages could not arrive, so that time is not silence of the agents.
constexpr Duration kTickLate = 1s;
// How long a finding about an exceeded bound or a claimed name stays open.
constexpr Duration kViolationAge = 10min;
// Looking for outdated nodes takes time for each node.
constexpr Duration kOutdatedEvery = 1s;
// Of a Tick. A fleet that comes back at once is evaluated over several Ticks.
constexpr int kEvaluationSteps = 64;

}  // namespace

// Several turns: others come between them, and each is measured.
void Controller::Tick(Moment now) {
  const auto turn = [&](TurnKind kind, auto work) {
    const Turn one(mutex_, turns_, clock_, kind);
    work();
  };
  turn(TurnKind::kTickSessions, [&]() REQUIRES(mutex_) { TickSessions(now); });
  turn(TurnKind::kTickCampaigns, [&]() REQUIRES(mutex_) {
    state_->campaigns.Tick(now);
    if (!state_->evaluator.Settled(now)) return;
    state_->schedules.Tick(now);
    state_->rechecks.Tick(now);
  });
  turn(TurnKind::kTickMesh, [&]() REQUIRES(mutex_) { state_->mesh.Tick(state_->fleet, now); });
  turn(TurnKind::kTickRules, [&]() REQUIRES(mutex_) { MarkOutdated(now); });
  bool more = true;
  for (int step = 0; more && step < kEvaluationSteps; ++step)
    turn(TurnKind::kTickRules, [&]() REQUIRES(mutex_) {
      more = state_->evaluator.Tick(state_->fleet, state_->findings, now);
    });
  turn(TurnKind::kTickFindings, [&]() REQUIRES(mutex_) {
    if (state_->evaluator.Settled(now)) state_->findings.Tick(state_->fleet, now);
  });
  turn(TurnKind::kTickCertificates,
       [&]() REQUIRES(mutex_) { state_->certificates.Tick(state_->evaluator.changed(), now); });
  turn(TurnKind::kTickNumbers, [&]() REQUIRES(mutex_) { UpdateNumbers(now); });
  turn(TurnKind::kTickStore, [&]() REQUIRES(mutex_) { state_->outbox.store().Tick(now); });
}

void Controller::TickSessions(Moment now) {
  const Duration since_last = now.steady - ticked_at_;
  ticked_at_ = now.steady;
  for (auto& [id, session] : state_->sessions.all()) {
    if (since_last >= kTickLate)
      session.heard_at = std::min(session.heard_at + since_last, now.steady);
    if (session.to_be_stored) StoreLate(session, now);
    const Duration quiet = now.steady - session.heard_at;
    if (session.silent || quiet < state_->options.lost_after) continue;
    session.silent = true;
    Lose(session.node.name(),
         Format("no message for {:.1f} s", std::chrono::duration<double>(quiet).count()), now);
  }
}

void Controller::MarkOutdated(Moment now) {
  if (state_->located.TakeChanged()) state_->evaluator.SetLocated(state_->located.All());
  if (now.steady - outdated_at_ < kOutdatedEvery) return;
  outdated_at_ = now.steady;
  RemoveExpired(*state_, now);
  UpdateMaintenance(*state_);
  for (const std::string& node : state_->fleet.FindOutdated(state_->options.settings_age_max, now))
    state_->evaluator.MarkChanged(node);
  for (const std::string& node : state_->fleet.ForgetViolations(kViolationAge, now))
    state_->evaluator.MarkChanged(node);
}

}  // namespace fabric::control
