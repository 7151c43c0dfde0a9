#include "tests/sim/blame_scenario.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "daemon/control/campaigns/result_analyzer.h"
#include "daemon/fleet/fleet.h"

namespace fabric::sim {
namespace {

constexpr std::uint64_t kPlans = 4;  // Seeds of campaigns that a stage knows
constexpr std::size_t kRoundsMax = 64;
constexpr std::uint32_t kDecidingRoundsMax = 16;  // As a campaign of the controller

std::string NameOf(const Port& port) {
  return Format("n{}/mlx5_{}/1", port.node + 1, port.rail);
}

struct Culprit {
  v1::SuspectKind kind = v1::SUSPECT_KIND_UNSPECIFIED;
  std::string name;  // As it starts in the report
  std::string other_name;
};

Culprit CulpritOf(const Clos& clos, const Fault& fault) {
  switch (fault.where) {
    case Where::kPort: return {v1::SUSPECT_KIND_PORT, NameOf(fault.port), {}};
    case Where::kHost: return {v1::SUSPECT_KIND_HOST, Format("n{}", fault.port.node + 1), {}};
    case Where::kLeaf: return {v1::SUSPECT_KIND_LEAF, clos.LeafName(fault.leaf), {}};
    case Where::kUplink:
      return {v1::SUSPECT_KIND_UPLINK, clos.LeafName(fault.leaf) + " uplinks, one path", {}};
    case Where::kSpine: return {v1::SUSPECT_KIND_SPINE, "a spine", {}};
    case Where::kLeafPair: {
      const std::string a = clos.LeafName(fault.leaf);
      const std::string b = clos.LeafName(fault.other_leaf);
      return {v1::SUSPECT_KIND_LEAF_PAIR, a + " and " + b, b + " and " + a};
    }
    case Where::kRail: return {v1::SUSPECT_KIND_RAIL, Format("rail {}", fault.port.rail), {}};
    case Where::kPair: {
      const std::string a = NameOf(fault.port);
      const std::string b = NameOf(fault.other);
      return {v1::SUSPECT_KIND_PAIR, a + " and " + b, b + " and " + a};
    }
    case Where::kFabric: return {v1::SUSPECT_KIND_FABRIC, "the fabric", {}};
  }
  return {};
}

bool Is(const v1::Suspect& suspect, const Culprit& culprit) {
  if (suspect.kind() != culprit.kind) return false;
  const bool part = culprit.kind == v1::SUSPECT_KIND_UPLINK;
  if (part) return suspect.name().starts_with(culprit.name);
  return suspect.name() == culprit.name || suspect.name() == culprit.other_name;
}

bool DirectionFits(const v1::Suspect& suspect, const Fault& fault) {
  switch (suspect.direction()) {
    case v1::DIRECTION_OUT: return fault.out && !fault.in;
    case v1::DIRECTION_IN: return fault.in && !fault.out;
    default: return true;
  }
}

std::string Line(const v1::Suspect& suspect) {
  std::string line = Format(
      "  {} {} {} {} confidence {:.4f} severity {:.4f}:", v1::SuspectKind_Name(suspect.kind()),
      suspect.name(), v1::Direction_Name(suspect.direction()), v1::FaultKind_Name(suspect.fault()),
      suspect.confidence(), suspect.severity());
  for (const std::string& evidence : suspect.evidence()) line += Format(" [{}]", evidence);
  return line + "\n";
}

std::string TextOf(const Clos& clos, const v1::BlameReport& report) {
  std::string text;
  for (const Fault& fault : clos.faults())
    text +=
        Format("fault: {} loss {:.4f} speed {:.2f} latency {:.1f} out {} in {}, {} of {} rounds\n",
               CulpritOf(clos, fault).name, fault.loss, fault.speed, fault.latency, fault.out,
               fault.in, fault.present, fault.period);
  text += Format("report: {}\n", v1::BlameState_Name(report.state()));
  for (const v1::Suspect& suspect : report.suspects()) text += Line(suspect);
  for (const v1::UndecidedGroup& group : report.undecided()) {
    text += Format(" undecided, {} probes wanted\n", group.probes_size());
    for (const v1::Suspect& suspect : group.suspects()) text += Line(suspect);
  }
  return text;
}

Outcome Score(const Clos& clos, const v1::BlameReport& report) {
  Outcome outcome;
  outcome.faults = static_cast<std::uint32_t>(clos.faults().size());
  outcome.suspects = static_cast<std::uint32_t>(report.suspects_size());
  outcome.groups = static_cast<std::uint32_t>(report.undecided_size());
  for (const v1::Suspect& suspect : report.suspects()) {
    const auto right = [&](const Fault& fault) {
      return Is(suspect, CulpritOf(clos, fault)) && DirectionFits(suspect, fault);
    };
    const bool is_right = std::any_of(clos.faults().begin(), clos.faults().end(), right);
    outcome.accusations.push_back({.confidence = suspect.confidence(), .right = is_right});
    if (!is_right) continue;
    ++outcome.right;
    outcome.least_confidence = std::min(outcome.least_confidence, suspect.confidence());
  }
  for (const Fault& fault : clos.faults()) {
    const Culprit culprit = CulpritOf(clos, fault);
    const auto is = [&](const v1::Suspect& suspect) { return Is(suspect, culprit); };
    const auto has = [&](const v1::UndecidedGroup& group) {
      return std::any_of(group.suspects().begin(), group.suspects().end(), is);
    };
    if (std::any_of(report.suspects().begin(), report.suspects().end(), is))
      ++outcome.named;
    else if (std::any_of(report.undecided().begin(), report.undecided().end(), has))
      ++outcome.in_a_group;
  }
  return outcome;
}

Port PortOf(const v1::ProbePort& port) {
  return {static_cast<std::uint32_t>(std::stoul(port.node().substr(1))) - 1, port.rail()};
}

// A pair that each campaign meets before it may end: of others it can know nothing.
void PlantPair(std::span<const std::vector<plan::PairTask>> rounds, Clos& clos, Random& random) {
  const std::vector<plan::PairTask>& round = rounds[random.Below(3)];
  const plan::PairTask& task = round[random.Below(round.size())];
  clos.Add({.where = Where::kPair, .port = PortOf(task.from), .other = PortOf(task.to), .loss = 1});
}

v1::ProbePort ToProbePort(const blame::Endpoint& place) {
  v1::ProbePort port;
  port.set_node(place.node);
  port.set_device(place.device);
  port.set_port(place.port);
  port.set_rail(*place.rail);
  return port;
}

fleet::Fleet FleetOf(const Clos& clos) {
  fleet::Fleet fleet;
  for (std::uint32_t node = 0; node < clos.shape().nodes; ++node)
    fleet.Put(clos.Snapshot(node), {});
  return fleet;
}

blame::Fabric FabricOf(const Clos& clos) {
  const fleet::Fleet fleet = FleetOf(clos);
  return blame::FabricOf(fleet::FleetView(fleet));
}

}  // namespace

Stage::Stage(const Shape& shape) : shape_(shape), fabric_(FabricOf(Clos(shape, 0))) {
  const fleet::Fleet fleet = FleetOf(Clos(shape, 0));
  const fleet::FleetView view(fleet);
  for (std::uint64_t seed = 0; seed < kPlans; ++seed) {
    v1::CampaignSpec spec;
    spec.set_seed(seed);
    const plan::Plan plan = *plan::MakePlan(view, spec);
    Tasks& rounds = rounds_.emplace_back();
    for (std::size_t round = 0; round < std::min(plan.rounds.size(), kRoundsMax); ++round) {
      std::vector<plan::PairTask>& tasks = rounds.emplace_back();
      for (const plan::Pair& pair : plan.rounds.At(round)) tasks.push_back(plan.Task(pair));
    }
  }
}

std::span<const std::vector<plan::PairTask>> Stage::rounds(std::uint64_t seed) const {
  return rounds_[seed % kPlans];
}

double Reliability::Bin::Error() const {
  return all == 0 ? 0 : (confidence - right) / all;
}

void Reliability::Add(const std::vector<Accusation>& accusations) {
  for (const Accusation& one : accusations) {
    const auto above = std::find_if(bins.begin() + 1, bins.end(),
                                    [&](const Bin& bin) { return bin.from > one.confidence; });
    Bin& bin = *(above - 1);
    ++bin.all;
    if (one.right) ++bin.right;
    bin.confidence += one.confidence;
    const double error = one.confidence - (one.right ? 1 : 0);
    squared_error += error * error;
    if (!one.right) worst = std::max(worst, one.confidence);
  }
}

Reliability::Bin Reliability::Between(double from, double to) const {
  Bin sum{from};
  for (const Bin& bin : bins) {
    if (bin.from < from || bin.from >= to) continue;
    sum.all += bin.all;
    sum.right += bin.right;
    sum.confidence += bin.confidence;
  }
  return sum;
}

double Reliability::Brier() const {
  const double all = Between(0, 2).all;
  return all == 0 ? 0 : squared_error / all;
}

std::string Reliability::Text() const {
  std::string text = "confidence from  accusations   right    mean confidence  error\n";
  for (const Bin& bin : bins)
    text += bin.all == 0
                ? Format("{:15.3f}  {:11}       -                  -      -\n", bin.from, 0)
                : Format("{:15.3f}  {:11}  {:.4f}  {:17.4f}  {:+.3f}\n", bin.from, bin.all,
                         static_cast<double>(bin.right) / bin.all, bin.confidence / bin.all,
                         bin.Error());
  return text +
         Format("Brier score {:.4f}; largest confidence of a wrong one {:.6f}\n", Brier(), worst);
}

using FloatSeconds = std::chrono::duration<double>;

namespace {

// The rounds of a campaign and their times.
class Rounds {
 public:
  Rounds(std::span<const std::vector<plan::PairTask>> planned, const blame::Fabric& fabric,
         bool one_by_one)
      : planned_(planned), fabric_(fabric), one_by_one_(one_by_one) {}

  bool done() const { return planned_.empty() && waiting_.empty(); }
  // A judgement is due: nothing of the last one waits.
  bool complete() const { return waiting_.empty(); }
  std::uint32_t round() const { return round_; }

  // Probes the next round. What `assessment` asks for is a round of its own, as in the controller.
  google::protobuf::RepeatedPtrField<v1::PairResult> Next(const blame::Assessment& assessment,
                                                          Clos& clos) {
    if (waiting_.empty()) Fill(assessment);
    google::protobuf::RepeatedPtrField<v1::PairResult> results;
    ++round_;
    clos.SetTime(now_s_);
    now_s_ += one_by_one_ ? kShortRound_s : kRound_s;
    const std::size_t count = one_by_one_ ? 1 : waiting_.size();
    for (std::size_t i = 0; i < count; ++i)
      clos.Probe(waiting_[i].first, waiting_[i].second, round_, results);
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<long>(count));
    return results;
  }

 private:
  static constexpr double kRound_s = 1;
  static constexpr double kShortRound_s = 0.35;

  void Fill(const blame::Assessment& assessment) {
    if (!assessment.next.empty() && !assessment.next_already_tried &&
        deciding_ < kDecidingRoundsMax) {
      ++deciding_;
      now_s_ += assessment.wait_s;
      for (const blame::ProbeRequest& wanted : assessment.next)
        waiting_.emplace_back(ToProbePort(fabric_.endpoints[wanted.from]),
                              ToProbePort(fabric_.endpoints[wanted.to]));
      return;
    }
    for (const plan::PairTask& task : planned_.front()) waiting_.emplace_back(task.from, task.to);
    planned_ = planned_.subspan(1);
  }

  std::span<const std::vector<plan::PairTask>> planned_;
  const blame::Fabric& fabric_;
  const bool one_by_one_;
  std::vector<std::pair<v1::ProbePort, v1::ProbePort>> waiting_;
  double now_s_ = kCampaignStart_s;
  std::uint32_t round_ = 0;
  std::uint32_t deciding_ = 0;
};

}  // namespace

Outcome Play(const Stage& stage, const Kind& kind, const Run& run) {
  Random random(run.seed);
  Clos clos(stage.shape(), random.Next());
  kind.plant(clos, random);
  const auto planned = stage.rounds(run.seed);
  if (kind.of_planned_pair) PlantPair(planned, clos, random);
  const blame::Fabric swapped = clos.swapped() ? FabricOf(clos) : blame::Fabric();
  const blame::Fabric& fabric = clos.swapped() ? swapped : stage.fabric();
  control::ResultAnalyzer judgement(fabric);
  std::vector<std::uint32_t> usable(fabric.endpoints.size());
  std::iota(usable.begin(), usable.end(), 0U);
  std::uint32_t named_at = 0;
  blame::Assessment assessment;
  FloatSeconds stand(0);
  Rounds rounds(planned, fabric, kind.one_by_one);
  std::uint32_t judged = 0;
  while (!rounds.done() && judged < run.rounds_max && !assessment.decided) {
    for (v1::PairResult& result : rounds.Next(assessment, clos)) judgement.Add(std::move(result));
    const auto start = std::chrono::steady_clock::now();
    judgement.EndRound();
    if (!rounds.complete()) continue;
    ++judged;
    assessment = judgement.Assess(usable, {}, {});
    stand = std::max(stand, FloatSeconds(std::chrono::steady_clock::now() - start));
    if (named_at == 0 && Score(clos, assessment.report).named == clos.faults().size())
      named_at = rounds.round();
  }
  Outcome outcome = Score(clos, assessment.report);
  outcome.rounds = rounds.round();
  outcome.decided = assessment.decided;
  outcome.stand_max_s = stand.count();
  outcome.named_at = outcome.named == outcome.faults ? named_at : 0;
  outcome.text = TextOf(clos, assessment.report);
  if (!assessment.decided) outcome.text += Format("open: {}\n", assessment.open_question);
  return outcome;
}

}  // namespace fabric::sim
