#include "daemon/control/schedules/recheck_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "proto/probe_kinds.h"

namespace fabric::control {
namespace {

constexpr std::size_t kShortNodesMax =
    64;  // Of one campaign; more: the whole fleet, with few partners
constexpr std::size_t kPartners = 4;
constexpr std::size_t kAllPairsMax = 10;  // Nodes
constexpr std::uint32_t kDegree = 4;
constexpr std::uint32_t kIterations = 200;
constexpr std::uint32_t kLargeBytes = 65536;
constexpr std::uint32_t kFlowLabels = 8;
constexpr std::uint32_t kPingsMin = 200;
constexpr std::uint32_t kPingsMax = 5000;
// Lost packets of a port that would be seen without a repair; ProbeCoverage asks for five.
constexpr double kLosses = 8;

bool IsPair(const v1::Finding& finding) {
  return finding.suspect().kind() == v1::SUSPECT_KIND_PAIR;
}

// Paths that ports share show a fault with partners beyond them only.
bool IsShared(const v1::Finding& finding) {
  return finding.suspect().kind() != v1::SUSPECT_KIND_PORT &&
         finding.suspect().kind() != v1::SUSPECT_KIND_HOST && !IsPair(finding);
}

// Bandwidth probes load the paths. Pings that run at the same time can lose packets to that load,
// which then looks like a fault of the fabric.
bool DisturbEachOther(const v1::Finding& a, const v1::Finding& b) {
  const v1::FaultKind x = a.suspect().fault();
  const v1::FaultKind y = b.suspect().fault();
  return (x == v1::FAULT_KIND_LOW_BANDWIDTH && y == v1::FAULT_KIND_PACKET_LOSS) ||
         (x == v1::FAULT_KIND_PACKET_LOSS && y == v1::FAULT_KIND_LOW_BANDWIDTH);
}

// What one campaign probes.
struct Selection {
  std::vector<const v1::Finding*> findings;
  std::set<std::string> nodes;
  bool pairs = false;   // Each pair of the nodes must be probed.
  bool shared = false;  // As many partners as nodes
};

std::size_t MostNodes(bool pairs) {
  return pairs ? kAllPairsMax - kPartners : kShortNodesMax;
}

Selection Select(std::span<const v1::Finding> findings) {
  Selection chosen;
  for (const v1::Finding& finding : findings) {
    if (!chosen.findings.empty()) {
      const v1::Finding& first = *chosen.findings.front();
      if (finding.suspect().traffic_class() != first.suspect().traffic_class()) continue;
      if (std::ranges::any_of(chosen.findings, [&](const v1::Finding* one) {
            return DisturbEachOther(*one, finding);
          }))
        continue;
    }
    std::set<std::string> nodes = NodesOfLocated(finding);
    nodes.insert(chosen.nodes.begin(), chosen.nodes.end());
    const bool pairs = chosen.pairs || IsPair(finding);
    if (!chosen.findings.empty() && nodes.size() > MostNodes(pairs)) continue;
    chosen.findings.push_back(&finding);
    chosen.nodes = std::move(nodes);
    chosen.pairs = pairs;
    chosen.shared = chosen.shared || IsShared(finding);
  }
  return chosen;
}

// Spread evenly over the names, which follow the racks in most fleets.
void AddSpread(const std::vector<std::string>& from, std::size_t wanted,
               std::set<std::string>& nodes) {
  wanted = std::min(wanted, from.size());
  for (std::size_t n = 0; n < wanted; ++n) nodes.insert(from[n * from.size() / wanted]);
}

// Suspected nodes only if there are too few others: without partners nothing can be probed, and
// blame knows faults of partners.
void AddPartners(const RecheckFleet& fleet, std::size_t wanted, std::set<std::string>& nodes) {
  std::vector<std::string> others;
  std::vector<std::string> suspected;
  for (const std::string& node : fleet.connected)
    if (!nodes.contains(node))
      (fleet.suspected.contains(node) ? suspected : others).push_back(node);
  AddSpread(others, wanted, nodes);
  if (others.size() < wanted) AddSpread(suspected, wanted - others.size(), nodes);
}

// 0: no finding is about lost packets.
std::uint32_t PingsFor(const Selection& chosen, std::size_t partners) {
  double least = 0;
  for (const v1::Finding* finding : chosen.findings) {
    const v1::Suspect& suspect = finding->suspect();
    if (suspect.fault() != v1::FAULT_KIND_PACKET_LOSS) continue;
    const double loss = std::max(suspect.severity() * std::max(suspect.affected(), 0.01), 1e-6);
    least = least == 0 ? loss : std::min(least, loss);
  }
  if (least == 0) return 0;
  const double each =
      std::ceil(kLosses / least / static_cast<double>(std::max<std::size_t>(1, partners)));
  return static_cast<std::uint32_t>(std::clamp<double>(each, kPingsMin, kPingsMax));
}

// A recheck is short: it sends no more messages than fabricd does by default.
void LimitIterations(v1::ProbeSpec& spec) {
  google::protobuf::Message& kind =
      *v1::ProbeSpec::GetReflection()->MutableMessage(&spec, ProbeArmOf(spec));
  const auto* const field = kind.GetDescriptor()->FindFieldByName("iterations");
  if (field == nullptr) return;
  const std::uint32_t wanted = std::min(NumberOf(kind, "iterations"), kIterations);
  kind.GetReflection()->SetUInt32(&kind, field, wanted);
}

// The same load as before, if it is known: more may be too much for the ports.
v1::ProbeSpec BandwidthProbe(const std::string& finding, const RecheckFleet& fleet) {
  v1::ProbeSpec spec;
  if (auto known = fleet.bandwidth_probe ? fleet.bandwidth_probe(finding) : std::nullopt) {
    LimitIterations(*known);
    return *std::move(known);
  }
  v1::RcWriteBandwidth& probe = *spec.mutable_rc_write_bandwidth();
  probe.set_iterations(kIterations);
  probe.set_message_bytes(kLargeBytes);
  probe.set_bidirectional(true);
  return spec;
}

void AddProbes(const Selection& chosen, const RecheckFleet& fleet, std::size_t partners,
               v1::CampaignSpec& spec) {
  spec.add_probes()->mutable_rc_write_latency()->set_iterations(kIterations);
  const auto slow = std::ranges::find_if(chosen.findings, [](const v1::Finding* finding) {
    return finding->suspect().fault() == v1::FAULT_KIND_LOW_BANDWIDTH;
  });
  if (slow != chosen.findings.end()) *spec.add_probes() = BandwidthProbe((*slow)->id(), fleet);
  const std::uint32_t pings = PingsFor(chosen, partners);
  if (pings == 0) return;
  v1::UdPing& probe = *spec.add_probes()->mutable_ud_ping();
  probe.set_pings(pings);
  for (std::uint32_t label = 1; label <= kFlowLabels; ++label) probe.add_flow_labels(label);
}

// Empty, for all rails, if the rail of a port is not known.
std::set<std::uint32_t> RailsOf(const Selection& chosen) {
  std::set<std::uint32_t> rails;
  for (const v1::Finding* finding : chosen.findings)
    for (const v1::Subject& port : finding->affected()) {
      if (!port.has_rail()) return {};
      rails.insert(port.rail());
    }
  return rails;
}

}  // namespace

std::set<std::string> NodesOfLocated(const v1::Finding& finding) {
  std::set<std::string> nodes;
  for (const v1::Subject& subject : finding.affected())
    if (!subject.node().empty()) nodes.insert(subject.node());
  for (const std::string& node : {finding.suspect().node(), finding.suspect().other_node()})
    if (!node.empty()) nodes.insert(node);
  return nodes;
}

RecheckPlan PlanRecheck(std::span<const v1::Finding> findings, const RecheckFleet& fleet) {
  Selection chosen = Select(findings);
  RecheckPlan plan;
  for (const v1::Finding* finding : chosen.findings) plan.findings.push_back(finding->id());
  const std::size_t partners = chosen.shared ? std::max(kPartners, chosen.nodes.size()) : kPartners;
  const bool whole = chosen.nodes.empty() || chosen.nodes.size() > kShortNodesMax;
  AddPartners(fleet, partners, chosen.nodes);
  const std::size_t all = whole ? fleet.connected.size() : chosen.nodes.size();
  v1::CampaignSpec& spec = plan.spec;
  if (!whole) spec.mutable_nodes()->Assign(chosen.nodes.begin(), chosen.nodes.end());
  const std::set<std::uint32_t> rails = RailsOf(chosen);
  spec.mutable_rails()->Assign(rails.begin(), rails.end());
  const bool each_pair = all <= kAllPairsMax;
  spec.set_pattern(each_pair ? v1::CAMPAIGN_PATTERN_ALL_PAIRS
                             : v1::CAMPAIGN_PATTERN_RANDOM_REGULAR);
  if (!each_pair) spec.set_degree(kDegree);
  AddProbes(chosen, fleet, each_pair ? all - 1 : kDegree, spec);
  spec.mutable_class_choice()->set_traffic_class(
      chosen.findings.front()->suspect().traffic_class());
  return plan;
}

}  // namespace fabric::control
