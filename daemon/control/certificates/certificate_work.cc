#include "daemon/control/certificates/certificate_work.h"

#include <algorithm>

#include "daemon/plan/plan.h"

namespace fabric::control {
namespace {

enum class Came { kWell, kFailed, kNotRun };

Came WhatCame(const v1::ProbeResult& result) {
  switch (result.status()) {
    case v1::PROBE_STATUS_OK: return Came::kWell;
    case v1::PROBE_STATUS_FAILED:
    case v1::PROBE_STATUS_TIMED_OUT:
    case v1::PROBE_STATUS_SETUP_FAILED: return Came::kFailed;
    default: return Came::kNotRun;  // Refused, as a busy port does; cancelled; no agent
  }
}

}  // namespace

CertificateWork::CertificateWork(std::vector<AskedPort> ports, bool alone)
    : ports_(std::move(ports)), alone_(alone) {
  std::map<std::pair<std::uint32_t, v1::LinkLayer>, std::uint32_t> rails;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    index_.emplace(plan::PortName(ports_[i].port), i);
    if (!ports_[i].obstacle) ++rails[{ports_[i].port.rail(), ports_[i].network}];
  }
  for (AskedPort& port : ports_)
    if (!port.obstacle) port.partners = rails[{port.port.rail(), port.network}] - 1;
  for (const auto& [rail, count] : rails) pairs_possible_ += std::size_t{count} * (count - 1) / 2;
  if (alone_)
    for (const auto& [rail, count] : rails) pairs_possible_ += count;
}

void CertificateWork::Take(const v1::PairResult& result) {
  const auto from = index_.find(plan::PortName(result.from()));
  const auto to = index_.find(plan::PortName(result.to()));
  if (from == index_.end() || to == index_.end()) return;
  const v1::ProbeResult& said = result.result();
  const Pair pair = std::minmax(from->second, to->second);
  switch (WhatCame(said)) {
    case Came::kWell:
      if (good_.insert(pair).second)
        for (const std::size_t port : std::set{pair.first, pair.second}) ++ports_[port].passed;
      return;
    case Came::kFailed:
      if (!bad_.insert(pair).second) return;
      failed_.push_back({.from = from->second, .to = to->second, .reason = said.reason()});
      for (const std::size_t port : std::set{pair.first, pair.second}) {
        const bool blamed = said.blamed_node() == ports_[port].port.node();
        if (blamed) failed_.back().blamed = port;
        if (blamed || said.blamed_node().empty()) ++ports_[port].failed;
        if (blamed && said.status() == v1::PROBE_STATUS_TIMED_OUT) ++ports_[port].late;
      }
      return;
    case Came::kNotRun:
      for (const std::size_t port : {from->second, to->second})
        if (said.blamed_node().empty() || said.blamed_node() == ports_[port].port.node())
          ports_[port].probe_failure = said.reason();
      if (said.status() == v1::PROBE_STATUS_UNREACHABLE)
        for (const std::size_t port : {from->second, to->second})
          if (said.blamed_node() == ports_[port].port.node()) ++ports_[port].away;
      return;
  }
}

std::size_t CertificateWork::pairs_probed() const {
  std::size_t pairs = good_.size();
  for (const Pair& pair : bad_)
    if (!good_.contains(pair)) ++pairs;
  return pairs;
}

}  // namespace fabric::control
