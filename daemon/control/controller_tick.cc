// What the controller does as time passes.
#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include "base/text.h"
#include "daemon/control/campaigns/campaign_start.h"
#include "daemon/control/certificates/certificate_start.h"
#include "daemon/control/controller.h"
#include "daemon/control/handlers/handler.h"
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
// Whose votes for the class of the jobs are counted.
constexpr std::size_t kVotesOfTurn = 32;
// Of a Tick. A fleet that comes back at once is evaluated over several Ticks.
constexpr int kEvaluationSteps = 64;
// A campaign whose nodes are lost ends many pairs at once.
constexpr int kCampaignSteps = 10;
// A plan of the mesh reads the whole fleet.
constexpr int kMeshSteps = 64;
// A silence, or the end of a hold time, can apply to thousands of findings.
constexpr int kFindingSteps = 64;
// Certificates read all findings and their nodes before these change again.
constexpr int kCertificateSteps = 2'000;

}  // namespace

// Several turns: others come between them, and each is measured.
void Controller::Tick(Moment now) {
  const auto turn = [&](TurnKind kind, auto work) {
    const Turn one(mutex_, turns_, clock_, kind);
    const WriteBatch batch(state_->outbox);
    work();
  };
  turn(TurnKind::kTickSessions, [&]() REQUIRES(mutex_) { TickSessions(now); });
  turn(TurnKind::kTickCampaigns, [&]() REQUIRES(mutex_) {
    state_->campaigns.Tick(now);
    if (!state_->evaluator.Settled(now)) return;
    state_->schedules.Tick(now);
    state_->rechecks.Tick(now);
  });
  bool more = true;
  for (int step = 0; more && step < kCampaignSteps; ++step)
    turn(TurnKind::kTickCampaigns,
         [&]() REQUIRES(mutex_) { more = state_->campaigns.Continue(now); });
  StartDue(now);
  turn(TurnKind::kTickMesh, [&]() REQUIRES(mutex_) {
    (void)state_->job_classes.Advance(kVotesOfTurn);
    state_->mesh.Tick(now);
  });
  more = true;
  for (int step = 0; more && step < kMeshSteps; ++step)
    turn(TurnKind::kTickMesh,
         [&]() REQUIRES(mutex_) { more = state_->mesh.Continue(state_->fleet, now); });
  turn(TurnKind::kTopology, [&]() REQUIRES(mutex_) { state_->subnets.Tick(state_->fleet, now); });
  turn(TurnKind::kTickRules, [&]() REQUIRES(mutex_) { MarkOutdated(now); });
  more = true;
  for (int step = 0; more && step < kEvaluationSteps; ++step)
    turn(TurnKind::kTickRules, [&]() REQUIRES(mutex_) {
      more = state_->evaluator.Tick(state_->fleet, state_->findings, now);
    });
  more = true;
  for (int step = 0; more && step < kFindingSteps; ++step)
    turn(TurnKind::kTickFindings, [&]() REQUIRES(mutex_) {
      more = state_->findings.ApplySilences(now) ||
             (state_->evaluator.Settled(now) && state_->findings.Tick(state_->fleet, now));
    });
  more = true;
  for (int step = 0; more && step < kCertificateSteps; ++step)
    turn(TurnKind::kTickCertificates, [&]() REQUIRES(mutex_) {
      // Certificates need all findings of an evaluation.
      more = !state_->findings.busy() && !state_->evaluator.collecting() &&
             state_->certificates.Tick(
                 {.nodes = state_->evaluator.changed(),
                  .located = state_->located.changed() || state_->evaluator.reported_changed()},
                 now);
    });
  StartMemoryTests(now);
  turn(TurnKind::kTickNumbers, [&]() REQUIRES(mutex_) { UpdateNumbers(now); });
  turn(TurnKind::kTickStore, [&]() REQUIRES(mutex_) { state_->outbox.store().Tick(now); });
}

// Campaigns of schedules.
void Controller::StartDue(Moment now) {
  const StateTurns turns([&](const std::function<void(State&)>& work) {
    const Turn turn(mutex_, turns_, clock_, TurnKind::kTickCampaigns);
    const WriteBatch batch(state_->outbox);
    work(*state_);
  });
  while (const auto due = turns.In([](State& state) { return state.schedules.TakeDue(); })) {
    const auto campaign = StartInTurns(turns, CampaignStart(due->spec, {.schedule = due->id}), now);
    turns.In([&](State& state) {
      state.schedules.OnStarted(due->number, campaign, now);
      return 0;
    });
  }
}

// Of certificates.
void Controller::StartMemoryTests(Moment now) {
  const StateTurns turns([&](const std::function<void(State&)>& work) {
    const Turn turn(mutex_, turns_, clock_, TurnKind::kTickCertificates);
    const WriteBatch batch(state_->outbox);
    work(*state_);
  });
  while (const auto test =
             turns.In([](State& state) { return state.certificates.TakeMemoryTest(); })) {
    auto planned = PlanInTurns(turns, *test, now);
    turns.In([&](State& state) {
      state.certificates.OnPlanned(test->certificate, std::move(planned), now);
      return 0;
    });
  }
}

// Only sessions whose time has come: there are thousands.
void Controller::TickSessions(Moment now) {
  const Duration since_last = now.steady - ticked_at_;
  ticked_at_ = now.steady;
  if (since_last >= kTickLate)
    for (auto& [id, session] : state_->sessions.all())
      session.heard_at = std::min(session.heard_at + since_last, now.steady);
  while (const auto id = state_->sessions.TakeDue(now.steady))
    if (Session* const session = state_->sessions.Find(*id)) TickSession(*session, now);
  state_->sessions.RequestNext(now);
}

void Controller::TickSession(Session& session, Moment now) {
  if (session.to_be_stored) StoreLate(session, now);
  const SteadyTime lost_at = session.heard_at + state_->options.lost_after;
  if (session.silent) return;  // The next message wakes it.
  if (now.steady < lost_at) {
    if (session.lost_check_at <= now.steady) {
      session.lost_check_at = lost_at;
      state_->sessions.WakeAt(session.id, lost_at);
    }
    return;
  }
  session.silent = true;
  const Duration quiet = now.steady - session.heard_at;
  Lose(session.node.name(),
       Format("no message for {:.1f} s", std::chrono::duration<double>(quiet).count()), now);
}

void Controller::MarkOutdated(Moment now) {
  if (state_->located.TakeChanged()) state_->evaluator.SetLocated(state_->located.All());
  if (now.steady - outdated_at_ < kOutdatedEvery) return;
  outdated_at_ = now.steady;
  RemoveExpired(*state_, now);
  UpdateMaintenance(*state_);
  const fleet::Fleet& fleet = state_->fleet;
  state_->node_actions.Tick(
      [&fleet](const std::string& node) { return fleet.Find(node) != nullptr; }, now);
  for (const std::string& node : state_->fleet.FindOutdated(state_->options.settings_age_max, now))
    state_->evaluator.MarkChanged(node);
  for (const std::string& node : state_->fleet.ForgetViolations(kViolationAge, now))
    state_->evaluator.MarkChanged(node);
}

}  // namespace fabric::control
