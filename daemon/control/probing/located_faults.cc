#include "daemon/control/probing/located_faults.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "daemon/control/probing/expectation_tally.h"
#include "daemon/rules/probes/located.h"
#include "proto/ports.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

constexpr std::size_t kFaultsMax = 1000;
// A figure that changes by less is the same fault: the mesh judges every ten seconds.
constexpr double kSameRatio = 2;
constexpr std::string_view kScheduleWord = "schedule ";

v1::Subject SubjectOfPort(const std::string& node, const std::string& device, std::uint32_t port) {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_PORT);
  subject.set_node(node);
  subject.set_device(device);
  subject.set_port(port);
  return subject;
}

v1::ProbePort ToProbePort(const blame::Endpoint& endpoint) {
  v1::ProbePort port;
  port.set_node(endpoint.node);
  port.set_device(endpoint.device);
  port.set_port(endpoint.port);
  if (endpoint.rail) port.set_rail(*endpoint.rail);
  return port;
}

bool IsSame(double a, double b) {
  return std::max(a, b) <= kSameRatio * std::min(a, b) + 1e-9;
}

bool IsSameFault(const v1::Finding& a, const v1::Finding& b) {
  const v1::Suspect& x = a.suspect();
  const v1::Suspect& y = b.suspect();
  return a.located_by() == b.located_by() && a.severity() == b.severity() &&
         x.fault() == y.fault() && x.direction() == y.direction() &&
         x.traffic_class() == y.traffic_class() && IsSame(x.severity(), y.severity()) &&
         IsSame(x.latency_ratio(), y.latency_ratio());
}

// The report blames something that the port is a part of.
bool IsSuperseded(const v1::Suspect& port, const v1::BlameReport& report) {
  if (port.kind() != v1::SUSPECT_KIND_PORT) return false;
  v1::ProbePort end;
  end.set_node(port.node());
  end.set_device(port.device());
  end.set_port(port.port());
  end.set_rail(port.rail());
  return std::ranges::any_of(report.suspects(), [&](const v1::Suspect& suspect) {
    return suspect.kind() != v1::SUSPECT_KIND_PORT && suspect.fault() == port.fault() &&
           Holds(suspect, end, port.leaf());
  });
}

// The run measured the part, so that it shows the end of the drift. The fabric: any part of it.
bool IsOver(const v1::Suspect& suspect, const LocatedFaults::DriftSource& source) {
  return suspect.kind() == v1::SUSPECT_KIND_FABRIC ? !source.compared.empty()
                                                   : source.compared.contains(suspect.name());
}

bool IsSamePart(const v1::Suspect& a, const v1::Suspect& b) {
  return a.kind() == b.kind() && a.name() == b.name();
}

}  // namespace

std::vector<AffectedPorts> AffectedBy(const v1::BlameReport& report, const blame::Fabric& fabric) {
  std::vector<AffectedPorts> affected(static_cast<std::size_t>(report.suspects_size()));
  if (affected.empty()) return affected;
  std::set<std::string> leaves;
  for (const blame::Endpoint& endpoint : fabric.endpoints)
    if (!leaves.contains(endpoint.leaf)) leaves.insert(endpoint.leaf);
  std::vector<v1::Suspect> parts;
  for (const v1::Suspect& suspect : report.suspects())
    parts.push_back(WithMembers(suspect, leaves));
  for (const blame::Endpoint& endpoint : fabric.endpoints) {
    const v1::ProbePort port = ToProbePort(endpoint);
    for (std::size_t n = 0; n < parts.size(); ++n) {
      if (!Holds(parts[n], port, endpoint.leaf)) continue;
      v1::Subject& subject = affected[n].emplace_back();
      subject.set_scope(v1::SCOPE_PORT);
      subject.set_node(endpoint.node);
      subject.set_device(endpoint.device);
      subject.set_port(endpoint.port);
      if (endpoint.rail) subject.set_rail(*endpoint.rail);
    }
  }
  return affected;
}

void LocatedFaults::Restore(const std::vector<v1::Finding>& open) {
  for (const v1::Finding& finding : open)
    if (finding.rule() == rules::kProbeBlame && finding.has_suspect()) {
      faults_.insert_or_assign(finding.id(), finding);
      changed_ = true;
    }
}

std::vector<std::string> LocatedFaults::Take(const Result& result, Moment now) {
  std::vector<std::string> ids;
  for (int n = 0; n < result.report.suspects_size(); ++n) {
    const v1::Suspect& suspect = result.report.suspects(n);
    if (suspect.fault() == v1::FAULT_KIND_AGENT_SILENT) continue;  // node_connected reports it.
    v1::Finding finding =
        rules::FindingOf({.suspect = suspect,
                          .located_by = result.located_by,
                          .show_command = result.show_command,
                          .affected = result.affected[static_cast<std::size_t>(n)],
                          .at = ToProto(now.wall)});
    ids.push_back(finding.id());
    const auto known = faults_.find(finding.id());
    if (known != faults_.end() && IsSameFault(known->second, finding)) continue;
    if (known == faults_.end() && faults_.size() >= kFaultsMax) continue;
    faults_.insert_or_assign(finding.id(), std::move(finding));
    changed_ = true;
  }
  const auto repaired = std::erase_if(faults_, [&](const auto& fault) {
    return std::ranges::find(ids, fault.first) == ids.end() && IsRepaired(fault.second, result);
  });
  changed_ = changed_ || repaired > 0;
  return ids;
}

void LocatedFaults::TakeDrift(const DriftSource& source, const std::vector<v1::Suspect>& suspects,
                              Moment now) {
  std::set<std::string> ids;
  for (const v1::Suspect& suspect : suspects) {
    std::vector<v1::Subject> affected;
    if (suspect.kind() == v1::SUSPECT_KIND_PORT)
      affected.push_back(SubjectOfPort(suspect.node(), suspect.device(), suspect.port()));
    if (suspect.kind() == v1::SUSPECT_KIND_PAIR) {
      affected.push_back(SubjectOfPort(suspect.node(), suspect.device(), suspect.port()));
      affected.push_back(
          SubjectOfPort(suspect.other_node(), suspect.other_device(), suspect.other_port()));
    }
    v1::Finding finding = rules::FindingOf({.suspect = suspect,
                                            .located_by = source.located_by,
                                            .show_command = source.show_command,
                                            .affected = std::move(affected),
                                            .at = ToProto(now.wall)});
    const auto known = faults_.find(finding.id());
    if (known == faults_.end() && faults_.size() >= kFaultsMax) continue;
    // A campaign blames the part already.
    if (known != faults_.end() && known->second.located_by() != source.located_by) continue;
    ids.insert(finding.id());
    if (known != faults_.end() && IsSameFault(known->second, finding)) continue;
    faults_.insert_or_assign(finding.id(), std::move(finding));
    changed_ = true;
  }
  changed_ |= std::erase_if(faults_, [&](const auto& fault) {
                return fault.second.located_by() == source.located_by &&
                       !ids.contains(fault.first) && IsOver(fault.second.suspect(), source);
              }) > 0;
}

void LocatedFaults::ForgetDrift(const std::string& schedule) {
  changed_ |= std::erase_if(faults_, [&](const auto& fault) {
                return fault.second.located_by() == schedule;
              }) > 0;
}

bool LocatedFaults::IsRepaired(const v1::Finding& finding, const Result& result) const {
  const v1::Suspect& suspect = finding.suspect();
  if (finding.located_by().starts_with(kScheduleWord)) return false;
  if (suspect.traffic_class() != result.traffic_class) return false;
  if (result.report.state() == v1::BLAME_STATE_INSUFFICIENT_DATA) return false;
  for (const v1::UndecidedGroup& group : result.report.undecided())
    for (const v1::Suspect& candidate : group.suspects())
      if (IsSamePart(candidate, suspect)) return false;
  if (IsSuperseded(suspect, result.report)) return true;
  if (suspect.kind() == v1::SUSPECT_KIND_PAIR) return result.coverage.ShowsPair(suspect);
  std::size_t shown = 0;
  for (const v1::Subject& port : finding.affected())
    shown +=
        result.coverage.Shows(suspect, Format("{}/{}/{}", port.node(), port.device(), port.port()));
  const bool of_node =
      suspect.kind() == v1::SUSPECT_KIND_PORT || suspect.kind() == v1::SUSPECT_KIND_HOST;
  const auto all = static_cast<std::size_t>(finding.affected_size());
  return shown > 0 && (of_node ? shown == all : 2 * shown >= all);
}

void LocatedFaults::OnRemoved(const std::string& node) {
  changed_ |=
      std::erase_if(faults_, [&](const auto& fault) {
        return fault.second.subject().node() == node || fault.second.suspect().other_node() == node;
      }) > 0;
}

std::vector<v1::Finding> LocatedFaults::All() const {
  std::vector<v1::Finding> all;
  for (const auto& [id, finding] : faults_) all.push_back(finding);
  return all;
}

std::set<std::string> LocatedFaults::Pairs() const {
  std::set<std::string> pairs;
  for (const auto& [id, finding] : faults_)
    if (finding.suspect().kind() == v1::SUSPECT_KIND_PAIR)
      pairs.insert(PairName(finding.suspect()));
  return pairs;
}

}  // namespace fabric::control
