// Steps of the mesh that take long in a large fleet: a plan and a judgement.
#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "daemon/control/mesh/mesh.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

// Delay after a change, because more follow: a leaf that comes up brings its nodes one by one.
constexpr Duration kSettleFor = 1s;
// Ports from which on a plan and a judgement run in the background. Smaller ones take less than a
// millisecond.
constexpr std::size_t kPortsInBackground = 128;
constexpr std::size_t kCountsMovedOfTurn = 16'384;

}  // namespace

// What runs reads members.
Mesh::~Mesh() {
  if (running_.valid()) running_.wait();
}

void Mesh::Run(std::packaged_task<void()> work, std::size_t ports) {
  running_ = work.get_future();
  step_ = Step::kAsked;
  if (sources_.background == nullptr || ports < kPortsInBackground) return work();
  sources_.background->Post(std::move(work));
}

bool Mesh::IsRunning() const {
  return running_.wait_for(0s) != std::future_status::ready;
}

bool Mesh::NeedsPlan(Moment now) const {
  const bool settled = now.steady - changed_at_ >= kSettleFor;
  const Duration planned = now.steady - planned_at_;
  return changed_ && planned >= kPlanEvery && (settled || planned >= 2 * kPlanEvery);
}

void Mesh::BeginPlan(Moment now) {
  changed_ = false;
  planned_at_ = now.steady;
  ChooseClass();
  planning_ = std::make_unique<MeshPlanning>(class_);
  step_ = Step::kFirst;
}

// Counts of another class say nothing about this one.
void Mesh::ChooseClass() {
  v1::TrafficClass chosen = sources_.classes.Of().front();
  if (chosen.traffic_class() != class_.traffic_class()) {
    counts_.assign(counts_.size(), {});
    flows_kept_ = 0;
    arrived_.clear();
    arrived_bytes_ = 0;
  }
  class_ = std::move(chosen);
  status_.clear_classes();
  *status_.add_classes() = class_;
}

// True: it may continue at once.
bool Mesh::ContinuePlan(const fleet::Fleet& fleet) {
  if (step_ == Step::kFirst) {
    const auto obstacle = [this](const v1::ProbePort& port) { return Obstacle(port); };
    if (planning_->Gather(fleet, sources_.sites, obstacle)) return true;
    Run(std::packaged_task<void()>([this] {
          planning_->Plan(settings_.paths, layout_);
          next_counts_.reserve(planning_->layout().plan.pairs.size());
        }),
        planning_->ports());
    return true;
  }
  if (step_ == Step::kAsked) {
    if (IsRunning()) return false;
    TakePlan();
  }
  if (!KeepCounts()) EndPlan();
  return true;
}

// After a failure, which is thrown here, the mesh is planned again.
void Mesh::TakePlan() {
  std::unique_ptr<MeshPlanning> planning = std::move(planning_);
  const bool changed = std::exchange(changed_, true);
  std::exchange(running_, {}).get();
  changed_ = changed;
  planning_ = std::move(planning);
  step_ = Step::kAnswered;
  flows_kept_ = 0;
}

// Pairs that are in the old and the new plan keep their counts. True: there are more.
bool Mesh::KeepCounts() {
  const EarlierPairs& earlier = planning_->earlier();
  const std::size_t end = std::min(earlier.size(), next_counts_.size() + kCountsMovedOfTurn);
  for (std::size_t n = next_counts_.size(); n < end; ++n) {
    MeshCounts& counts = next_counts_.emplace_back();
    if (earlier[n]) counts = std::move(counts_[*earlier[n]]);
    flows_kept_ += counts.flows_kept();
  }
  return end < earlier.size();
}

void Mesh::EndPlan() {
  std::swap(layout_, planning_->layout());
  std::swap(counts_, next_counts_);
  for (const auto& [name, node] : nodes_) out_of_date_.insert(name);
  status_.set_ports(static_cast<std::uint32_t>(layout_.plan.ports.size()));
  status_.mutable_not_covered()->Swap(&planning_->left_out());
  fresh_ = true;
  // To free the memory of a large plan takes as long as a step.
  if (sources_.background != nullptr && planning_->ports() >= kPortsInBackground)
    sources_.background->Post(std::packaged_task<void()>(
        [planning = std::move(planning_), counts = std::exchange(next_counts_, {})] {}));
  planning_.reset();
  next_counts_.clear();
}

// True: it may continue at once.
bool Mesh::ContinueJudgement(Moment now) {
  MeshJudgement& judgement = *judgement_;
  switch (step_) {
    case Step::kFirst:
      if (!judgement.Count(counts_)) step_ = Step::kSecond;
      return true;
    case Step::kSecond:
      if (!judgement.Collect(counts_)) step_ = Step::kThird;
      return true;
    case Step::kThird:
      if (sources_.open_findings(judgement.last_finding, judgement.findings)) return true;
      Run(std::packaged_task<void()>(
              [&judgement, chosen = class_, pairs = sources_.located.Pairs()]() mutable {
                judgement.Ask(chosen, std::move(pairs));
              }),
          layout_.candidates.size());
      return true;
    default: break;
  }
  if (IsRunning()) return false;
  std::unique_ptr<MeshJudgement> answered = std::move(judgement_);
  std::exchange(running_, {}).get();
  EndJudgement(std::move(answered->answer), now);
  // To free its results takes as long as a step.
  if (sources_.background != nullptr && layout_.candidates.size() >= kPortsInBackground)
    sources_.background->Post(std::packaged_task<void()>([old = std::move(answered)] {}));
  return true;
}

void Mesh::EndJudgement(MeshAnswer answer, Moment now) {
  *status_.mutable_blame() = std::move(answer.report);
  const std::vector<std::string> ids =
      sources_.located.Take({.located_by = "mesh",
                             .show_command = "fabricctl mesh",
                             .traffic_class = class_.traffic_class(),
                             .report = status_.blame(),
                             .coverage = answer.coverage,
                             .affected = answer.affected},
                            now);
  status_.mutable_findings()->Assign(ids.begin(), ids.end());
  std::swap(leaf_pairs_, answer.leaf_pairs);
  std::swap(numbers_, answer.numbers);
  double rate = 0;
  std::uint32_t windows = 0;
  for (const auto& [name, node] : nodes_) {
    rate += node.pings_per_second;
    windows += std::min(node.windows, static_cast<std::uint32_t>(MeshCounts::kWindowsMax));
  }
  status_.set_pings_per_second(rate);
  status_.set_windows(windows);
  *status_.mutable_updated_at() = ToProto(now.wall);
  if (sources_.background != nullptr && layout_.candidates.size() >= kPortsInBackground)
    sources_.background->Post(std::packaged_task<void()>([old = std::move(answer)] {}));
}

}  // namespace fabric::control
