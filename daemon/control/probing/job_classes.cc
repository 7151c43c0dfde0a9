#include "daemon/control/probing/job_classes.h"

#include <algorithm>
#include <tuple>

#include "base/lists.h"
#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "proto/names.h"

namespace fabric::control {
namespace {

constexpr std::uint32_t kDscpMax = 63;
constexpr std::uint32_t kEct0 = 2;  // The packets can be marked by ECN, as those of jobs.

struct Chosen {
  std::uint32_t value = 0;
  std::uint32_t votes = 0;
};

// The most frequent value. Of equal ones the most frequent in `fleet`, then the usual DSCP of RoCE
// data, else the lowest.
std::optional<Chosen> MostFrequent(const ClassVotes::Counts& counts,
                                   const ClassVotes::Counts& fleet = {}) {
  std::optional<Chosen> best;
  const auto rank = [&](std::uint32_t value, std::uint32_t votes) {
    const auto all = fleet.find(value);
    return std::tuple(votes, all == fleet.end() ? 0 : all->second, value == rules::kUsualDataDscp);
  };
  for (const auto& [value, votes] : counts)
    if (!best || rank(value, votes) > rank(best->value, best->votes)) best = Chosen{value, votes};
  return best;
}

// DSCP of the port's lossless class.
std::optional<std::uint32_t> LosslessDscp(const fleet::PortView& port) {
  const v1::DcbConfig* const dcb = rules::DcbOf(port);
  const auto priority = rules::DataPriority(port);
  const auto mask = rules::PfcMask(port);
  if (dcb == nullptr || !priority || !mask || !mask->Has(*priority)) return {};
  const std::uint32_t named = rules::DataDscp(port).value_or(rules::kUsualDataDscp);
  if (rules::PriorityOfDscp(*dcb, named) == priority) return named;
  for (std::uint32_t dscp = 1; dscp <= kDscpMax; ++dscp)
    if (rules::PriorityOfDscp(*dcb, dscp) == priority) return dscp;
  return {};
}

void SetTreatments(const fleet::PortView& port, PortVote& vote) {
  const v1::DcbConfig* const dcb = rules::DcbOf(port);
  const auto mask = rules::PfcMask(port);
  if (dcb == nullptr || !mask) return;
  for (std::uint32_t dscp = 0; dscp <= kDscpMax; ++dscp)
    if (const auto priority = rules::PriorityOfDscp(*dcb, dscp); priority && *priority < 8)
      vote.treatments[dscp] =
          static_cast<std::uint8_t>(*priority | (mask->Has(*priority) ? PortVote::kLossless : 0U));
}

void FindGids(const fleet::PortView& port, PortVote& vote) {
  for (const v1::Gid& gid : port.port->gids()) {
    if (gid.type() != v1::GID_TYPE_ROCE_V2 || gid.link_local()) continue;
    const ClassVotes::GidSlot slot{.index = gid.index(), .ipv4 = !gid.ipv4().empty()};
    vote.usable_gids.push_back(slot);
    // As agents choose: IPv4 before IPv6, then the first one.
    if (!vote.usual_gid || (slot.ipv4 && !vote.usual_gid->ipv4)) vote.usual_gid = slot;
  }
}

// The index that most ports use. Empty if a port has no such GID there: each agent then chooses.
std::optional<std::uint32_t> UsualGidIndex(const ClassVotes& votes) {
  const auto most = std::ranges::max_element(
      votes.usual_gids, [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == votes.usual_gids.end()) return {};
  const auto usable = votes.usable_gids.find(most->first);
  if (usable->second < votes.with_gid) return {};
  return most->first.index;
}

// The P_Key that jobs can use: the first one with full membership, because two limited members do
// not reach each other. Without one, the first one.
std::optional<std::uint32_t> UsualPkey(const v1::Port& port) {
  constexpr std::uint32_t kFullMember = 0x8000;
  constexpr std::uint32_t kNumber = 0x7fff;
  if (port.pkeys().empty()) return {};
  for (const std::uint32_t pkey : port.pkeys())
    if ((pkey & kFullMember) != 0) return pkey & kNumber;
  return port.pkeys(0) & kNumber;
}

// No value: the port has no vote.
std::optional<PortVote> VoteOf(const fleet::PortView& port) {
  const v1::Expectations& expected = port.expected();
  if (!port.fabric || !port.up || expected.unused()) return {};
  PortVote vote;
  vote.treatments.fill(PortVote::kUnknown);
  if (port.carries_roce) {
    vote.roce = true;
    if (expected.has_data_dscp()) vote.profile_dscp = expected.data_dscp();
    vote.lossless_dscp = LosslessDscp(port);
    SetTreatments(port, vote);
    FindGids(port, vote);
  }
  vote.infiniband = !vote.roce && port.port->link_layer() == v1::LINK_LAYER_INFINIBAND;
  if (expected.has_job_gid_index()) vote.gid_index = expected.job_gid_index();
  if (expected.has_job_service_level()) vote.service_level = expected.job_service_level();
  if (expected.has_job_pkey())
    vote.pkey = expected.job_pkey();
  else if (expected.full_pkeys_size() == 1 && !port.carries_roce)
    vote.pkey = expected.full_pkeys(0);
  if (vote.infiniband) vote.usual_pkey = UsualPkey(*port.port);
  return vote;
}

void Add(const std::optional<std::uint32_t>& value, std::uint32_t ports,
         ClassVotes::Counts& counts) {
  if (value) counts[*value] += ports;
}

void Add(const PortVote& vote, std::uint32_t ports, ClassVotes& votes) {
  votes.roce += vote.roce ? ports : 0;
  votes.infiniband += vote.infiniband ? ports : 0;
  Add(vote.profile_dscp, ports, votes.profile_dscps);
  Add(vote.lossless_dscp, ports, votes.lossless_dscps);
  Add(vote.gid_index, ports, votes.gid_indexes);
  Add(vote.pkey, ports, votes.pkeys);
  Add(vote.usual_pkey, ports, votes.usual_pkeys);
  Add(vote.service_level, ports, votes.service_levels);
  for (const ClassVotes::GidSlot& slot : vote.usable_gids) votes.usable_gids[slot] += ports;
  if (vote.usual_gid) {
    votes.usual_gids[*vote.usual_gid] += ports;
    votes.with_gid += ports;
  }
  for (std::size_t dscp = 0; dscp < vote.treatments.size(); ++dscp) {
    const std::uint8_t seen = vote.treatments[dscp];
    if (seen == PortVote::kUnknown) continue;
    ClassVotes::Treatment& treatment = votes.treatments[dscp];
    treatment.known += ports;
    treatment.priorities[seen & ~std::uint32_t{PortVote::kLossless}] += ports;
    if ((seen & PortVote::kLossless) != 0) treatment.lossless += ports;
  }
}

// What the ports do with the DSCP of the class.
void SetTreatment(const ClassVotes& votes, v1::TrafficClass& chosen) {
  const ClassVotes::Treatment& treatment = votes.treatments[chosen.dscp()];
  if (const auto priority = MostFrequent(treatment.priorities))
    chosen.set_priority(priority->value);
  if (treatment.known > 0) chosen.set_lossless(2 * treatment.lossless > treatment.known);
  chosen.set_name(chosen.dscp() == 0  ? "default"
                  : chosen.lossless() ? "lossless"
                                      : Format("DSCP {}", chosen.dscp()));
}

std::string PriorityText(const v1::TrafficClass& chosen) {
  if (!chosen.has_priority()) return Format("DSCP {}", chosen.dscp());
  return Format("DSCP {} to {}priority {}", chosen.dscp(), chosen.lossless() ? "PFC " : "",
                chosen.priority());
}

void SetDscp(std::uint32_t dscp, v1::TrafficClassSource source, v1::TrafficClass& chosen) {
  chosen.set_dscp(dscp);
  chosen.set_traffic_class(dscp == 0 ? 0 : dscp << 2 | kEct0);
  chosen.set_source(source);
}

// "; others: DSCP 24 of 6 ports": what the probed ports use that are not probed in their own class.
std::string OthersText(const ClassVotes::Counts& counts, std::uint32_t chosen) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> others;
  for (const auto& [dscp, ports] : counts)
    if (dscp != chosen) others.push_back(Format("DSCP {} of {}", dscp, Plural(ports, "port")));
  return others.empty() ? std::string() : "; others: " + ListSome(others, kShown);
}

void ChooseRoceClass(const ClassVotes& votes, const v1::TrafficClassChoice& choice,
                     const ClassVotes& fleet, v1::TrafficClass& chosen) {
  std::string basis;
  if (choice.has_traffic_class()) {
    SetDscp(choice.traffic_class() >> 2, v1::TRAFFIC_CLASS_SOURCE_REQUEST, chosen);
    chosen.set_traffic_class(choice.traffic_class());
    basis = "request";
  } else if (const auto given = MostFrequent(votes.profile_dscps, fleet.profile_dscps)) {
    SetDscp(given->value, v1::TRAFFIC_CLASS_SOURCE_PROFILE, chosen);
    basis = Format("profile of {} of {} ports{}", given->votes, votes.roce,
                   OthersText(votes.profile_dscps, given->value));
  } else if (const auto most = MostFrequent(votes.lossless_dscps, fleet.lossless_dscps)) {
    SetDscp(most->value, v1::TRAFFIC_CLASS_SOURCE_MAJORITY, chosen);
    basis = Format("{} of {} ports{}", most->votes, votes.roce,
                   OthersText(votes.lossless_dscps, most->value));
  } else if (const auto usual = MostFrequent(fleet.lossless_dscps)) {
    SetDscp(usual->value, v1::TRAFFIC_CLASS_SOURCE_MAJORITY, chosen);
    basis = Format("{} of {} ports of the fleet", usual->votes, fleet.roce);
  } else {
    SetDscp(0, v1::TRAFFIC_CLASS_SOURCE_DEFAULT, chosen);
    basis = "no port reports a lossless priority";
  }
  SetTreatment(votes, chosen);
  chosen.set_basis(Format("{}: {}", PriorityText(chosen), basis));
}

void ChooseQueuePair(const ClassVotes& votes, const v1::TrafficClassChoice& choice,
                     const ClassVotes& fleet, v1::TrafficClass& chosen) {
  if (choice.has_gid_index()) {
    chosen.set_gid_index(choice.gid_index());
    chosen.set_gid_index_source(v1::TRAFFIC_CLASS_SOURCE_REQUEST);
  } else if (const auto given = MostFrequent(votes.gid_indexes)) {
    chosen.set_gid_index(given->value);
    chosen.set_gid_index_source(v1::TRAFFIC_CLASS_SOURCE_PROFILE);
  } else if (const auto usual = UsualGidIndex(votes)) {
    chosen.set_gid_index(*usual);
    chosen.set_gid_index_source(v1::TRAFFIC_CLASS_SOURCE_MAJORITY);
  } else {
    chosen.set_gid_index_source(v1::TRAFFIC_CLASS_SOURCE_DEFAULT);
  }
  if (choice.has_pkey()) {
    chosen.set_pkey(choice.pkey());
    chosen.set_pkey_source(v1::TRAFFIC_CLASS_SOURCE_REQUEST);
  } else if (const auto given = MostFrequent(votes.pkeys)) {
    chosen.set_pkey(given->value);
    chosen.set_pkey_source(v1::TRAFFIC_CLASS_SOURCE_PROFILE);
  } else if (const auto usual = MostFrequent(votes.usual_pkeys, fleet.usual_pkeys);
             usual && votes.roce == 0) {  // RoCE ports have one P_Key.
    chosen.set_pkey(usual->value);
    chosen.set_pkey_source(v1::TRAFFIC_CLASS_SOURCE_MAJORITY);
  } else {
    chosen.set_pkey_source(v1::TRAFFIC_CLASS_SOURCE_DEFAULT);
  }
  if (choice.has_service_level())
    chosen.set_service_level(choice.service_level());
  else if (const auto given = MostFrequent(votes.service_levels))
    chosen.set_service_level(given->value);
}

Status CheckMost(std::string_view field, std::uint32_t seen, std::uint32_t most) {
  if (seen <= most) return {};
  return {Code::kInvalidArgument, Format("{}: expected 0 to {}, saw {}", field, most, seen)};
}

}  // namespace

Status Check(const v1::TrafficClassChoice& choice) {
  RETURN_IF_ERROR(CheckMost("traffic_class", choice.traffic_class(), 255));
  RETURN_IF_ERROR(CheckMost("gid_index", choice.gid_index(), 255));
  RETURN_IF_ERROR(CheckMost("pkey", choice.pkey(), 0x7fff));
  return CheckMost("service_level", choice.service_level(), 15);
}

ClassVotes VotesOf(const fleet::FleetView& fleet) {
  ClassVotes votes;
  for (const fleet::NodeView& node : fleet.nodes())
    for (const fleet::PortView& port : node.ports)
      if (const auto vote = VoteOf(port)) Add(*vote, 1, votes);
  return votes;
}

std::vector<v1::TrafficClass> ClassesOf(const ClassVotes& votes,
                                        const v1::TrafficClassChoice& choice,
                                        const ClassVotes* fleet) {
  static const ClassVotes kNone;
  if (fleet == nullptr) fleet = &kNone;
  v1::TrafficClass chosen;
  if (votes.roce > 0 || votes.infiniband == 0) {
    ChooseRoceClass(votes, choice, *fleet, chosen);
  } else {
    chosen.set_name("InfiniBand");
    chosen.set_source(v1::TRAFFIC_CLASS_SOURCE_DEFAULT);
    chosen.set_basis(Format("{} InfiniBand ports", votes.infiniband));
  }
  ChooseQueuePair(votes, choice, *fleet, chosen);
  std::vector<v1::TrafficClass> classes = {chosen};
  if (!choice.compare_default() || chosen.traffic_class() == 0) return classes;
  v1::TrafficClass compared = chosen;
  SetDscp(0, v1::TRAFFIC_CLASS_SOURCE_REQUEST, compared);
  SetTreatment(votes, compared);
  compared.set_basis(Format("{}: compared on request", PriorityText(compared)));
  classes.push_back(std::move(compared));
  return classes;
}

void SetQueuePair(const v1::TrafficClass& chosen, v1::QueuePairSettings& settings) {
  if (chosen.has_gid_index() && !settings.has_gid_index())
    settings.set_gid_index(chosen.gid_index());
  if (chosen.has_pkey() && !settings.has_pkey()) settings.set_pkey(chosen.pkey());
  if (chosen.has_service_level() && !settings.has_service_level())
    settings.set_service_level(chosen.service_level());
}

void SetClasses(const std::vector<v1::TrafficClass>& classes, v1::CampaignSpec& spec) {
  const v1::CampaignSpec wanted = spec;
  spec.clear_probes();
  for (const v1::TrafficClass& chosen : classes) {
    for (const v1::ProbeSpec& probe : wanted.probes()) {
      if (probe.traffic_class() != 0 && &chosen != &classes.front()) continue;
      v1::ProbeSpec& made = *spec.add_probes();
      made = probe;
      if (probe.traffic_class() == 0) made.set_traffic_class(chosen.traffic_class());
      v1::TrafficClass& resolved = *made.mutable_resolved_class();
      resolved = chosen;
      resolved.clear_basis();  // The campaign has it once.
      if (probe.traffic_class() != 0 && probe.traffic_class() != chosen.traffic_class()) {
        SetDscp(probe.traffic_class() >> 2, v1::TRAFFIC_CLASS_SOURCE_REQUEST, resolved);
        resolved.set_traffic_class(probe.traffic_class());
        resolved.set_name(Format("DSCP {}", resolved.dscp()));
        resolved.clear_priority();
        resolved.clear_lossless();
      }
      SetQueuePair(chosen, *made.mutable_queue_pair());
      if (made.queue_pair().ByteSizeLong() == 0) made.clear_queue_pair();
    }
  }
}

void JobClasses::Count(const std::string& node, fleet::ExpectationTable& expectations) {
  sum_.reset();
  std::vector<Counted>& ports = nodes_[node];
  for (const Counted& port : ports)
    if (--port.vote->second == 0) votes_.erase(port.vote);
  ports.clear();
  const fleet::NodeRecord* const record = fleet_.Find(node);
  if (record != nullptr && record->state == v1::NODE_STATE_CONNECTED) {
    const fleet::NodeView view = fleet::ViewOf(*record, profile_, expectations);
    for (const fleet::PortView& port : view.ports) {
      const auto vote = VoteOf(port);
      if (!vote) continue;
      Counted& counted = ports.emplace_back();
      if (port.rail) counted.rail = port.rail->value();
      counted.vote = votes_.try_emplace(*vote, 0).first;
      ++counted.vote->second;
    }
  }
  if (ports.empty()) nodes_.erase(node);
}

bool JobClasses::Advance(std::size_t nodes_max) {
  fleet::ExpectationTable expectations;
  for (; !changed_.empty() && nodes_max > 0; --nodes_max) {
    Count(*changed_.begin(), expectations);
    changed_.erase(changed_.begin());
  }
  return !changed_.empty();
}

ClassVotes JobClasses::VotesIn(const ClassScope& scope) const {
  std::map<const PortVote*, std::uint32_t> ports;
  const auto add = [&](const std::vector<Counted>& node) {
    for (const Counted& port : node)
      if (scope.rails.empty() || (port.rail && scope.rails.contains(*port.rail)))
        ++ports[&port.vote->first];
  };
  if (scope.nodes.empty())
    for (const auto& [name, node] : nodes_) add(node);
  for (const std::string& name : scope.nodes)
    if (const auto node = nodes_.find(name); node != nodes_.end()) add(node->second);
  ClassVotes votes;
  for (const auto& [vote, count] : ports) Add(*vote, count, votes);
  return votes;
}

std::vector<v1::TrafficClass> JobClasses::Of(const v1::TrafficClassChoice& choice,
                                             const ClassScope& scope) {
  (void)Advance(changed_.size());
  if (!sum_) {
    sum_.emplace();
    for (const auto& [vote, ports] : votes_) Add(vote, ports, *sum_);
  }
  if (scope.nodes.empty() && scope.rails.empty()) return ClassesOf(*sum_, choice);
  const ClassVotes votes = VotesIn(scope);
  // No such port is up: the result says why nothing was probed.
  if (votes.roce + votes.infiniband == 0) return ClassesOf(*sum_, choice);
  return ClassesOf(votes, choice, &*sum_);
}

}  // namespace fabric::control
