#include "daemon/control/probing/job_classes.h"

#include <algorithm>
#include <numeric>

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
  std::uint32_t of = 0;
};

// The most frequent value. Of equal ones the usual DSCP of RoCE data, else the lowest.
std::optional<Chosen> MostFrequent(const ClassVotes::Counts& counts) {
  std::optional<Chosen> best;
  std::uint32_t all = 0;
  for (const auto& [value, votes] : counts) {
    all += votes;
    const bool usual = value == rules::kUsualDataDscp && best && votes == best->votes;
    if (!best || votes > best->votes || usual) best = Chosen{value, votes, 0};
  }
  if (best) best->of = all;
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

void CountTreatments(const fleet::PortView& port, ClassVotes& votes) {
  const v1::DcbConfig* const dcb = rules::DcbOf(port);
  const auto mask = rules::PfcMask(port);
  if (dcb == nullptr || !mask) return;
  for (std::uint32_t dscp = 0; dscp <= kDscpMax; ++dscp) {
    const auto priority = rules::PriorityOfDscp(*dcb, dscp);
    if (!priority) continue;
    ClassVotes::Treatment& treatment = votes.treatments[dscp];
    ++treatment.known;
    ++treatment.priorities[*priority];
    if (mask->Has(*priority)) ++treatment.lossless;
  }
}

void CountGids(const fleet::PortView& port, ClassVotes& votes) {
  std::optional<ClassVotes::GidSlot> usual;
  for (const v1::Gid& gid : port.port->gids()) {
    if (gid.type() != v1::GID_TYPE_ROCE_V2 || gid.link_local()) continue;
    const ClassVotes::GidSlot slot{.index = gid.index(), .ipv4 = !gid.ipv4().empty()};
    ++votes.usable_gids[slot];
    // As agents choose: IPv4 before IPv6, then the first one.
    if (!usual || (slot.ipv4 && !usual->ipv4)) usual = slot;
  }
  if (!usual) return;
  ++votes.usual_gids[*usual];
  ++votes.with_gid;
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

void CountPort(const fleet::PortView& port, ClassVotes& votes) {
  const v1::Expectations& expected = port.expected();
  if (!port.fabric || !port.up || expected.unused()) return;
  if (port.carries_roce) {
    ++votes.roce;
    if (expected.has_data_dscp()) ++votes.profile_dscps[expected.data_dscp()];
    if (const auto dscp = LosslessDscp(port)) ++votes.lossless_dscps[*dscp];
    CountTreatments(port, votes);
    CountGids(port, votes);
  } else if (port.port->link_layer() == v1::LINK_LAYER_INFINIBAND) {
    ++votes.infiniband;
  }
  if (expected.has_job_gid_index()) ++votes.gid_indexes[expected.job_gid_index()];
  if (expected.has_job_service_level()) ++votes.service_levels[expected.job_service_level()];
  if (expected.has_job_pkey())
    ++votes.pkeys[expected.job_pkey()];
  else if (expected.full_pkeys_size() == 1 && !port.carries_roce)
    ++votes.pkeys[expected.full_pkeys(0)];
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

void ChooseRoceClass(const ClassVotes& votes, const v1::TrafficClassChoice& choice,
                     v1::TrafficClass& chosen) {
  std::string basis;
  if (choice.has_traffic_class()) {
    SetDscp(choice.traffic_class() >> 2, v1::TRAFFIC_CLASS_SOURCE_REQUEST, chosen);
    chosen.set_traffic_class(choice.traffic_class());
    basis = "request";
  } else if (const auto given = MostFrequent(votes.profile_dscps)) {
    SetDscp(given->value, v1::TRAFFIC_CLASS_SOURCE_PROFILE, chosen);
    basis = Format("profile of {} of {} ports", given->votes, votes.roce);
  } else if (const auto most = MostFrequent(votes.lossless_dscps)) {
    SetDscp(most->value, v1::TRAFFIC_CLASS_SOURCE_MAJORITY, chosen);
    basis = Format("{} of {} ports", most->votes, votes.roce);
  } else {
    SetDscp(0, v1::TRAFFIC_CLASS_SOURCE_DEFAULT, chosen);
    basis = "no port reports a lossless priority";
  }
  SetTreatment(votes, chosen);
  chosen.set_basis(Format("{}: {}", PriorityText(chosen), basis));
}

void ChooseQueuePair(const ClassVotes& votes, const v1::TrafficClassChoice& choice,
                     v1::TrafficClass& chosen) {
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
    for (const fleet::PortView& port : node.ports) CountPort(port, votes);
  return votes;
}

std::vector<v1::TrafficClass> ClassesOf(const ClassVotes& votes,
                                        const v1::TrafficClassChoice& choice) {
  v1::TrafficClass chosen;
  if (votes.roce > 0 || votes.infiniband == 0) {
    ChooseRoceClass(votes, choice, chosen);
  } else {
    chosen.set_name("InfiniBand");
    chosen.set_source(v1::TRAFFIC_CLASS_SOURCE_DEFAULT);
    chosen.set_basis(Format("{} InfiniBand ports", votes.infiniband));
  }
  ChooseQueuePair(votes, choice, chosen);
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

std::vector<v1::TrafficClass> JobClasses::Of(const v1::TrafficClassChoice& choice) {
  if (!votes_) votes_ = VotesOf(fleet::FleetView(fleet_, profile_));
  return ClassesOf(*votes_, choice);
}

}  // namespace fabric::control
