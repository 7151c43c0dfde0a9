// Fault localization: finds the component of the fabric that explains failed or slow probes.
//
// Pure and deterministic: the same observations in the same order give the same report. The method
// is a Bayesian search, described in docs/design/blame.md.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "daemon/blame/counters.h"
#include "daemon/blame/fabric.h"
#include "fabric/v1/blame.pb.h"
#include "fabric/v1/finding.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::blame {

// The normal figure of comparable probes.
struct Baseline {
  double reached = 0;     // Upper quartile: the better quarter of the probes reached it
  double noise = 0;       // As Observation::noise
  std::size_t count = 0;  // Number of figures that it is computed from
};

// Baselines of all results so far. Needed because a small round, such as one of requested probes,
// has too few results to compare with each other. A value.
class Baselines {
 public:
  // The baseline to compare with: `now`, unless it has less than half the figures of the known one.
  // `group` names comparable probes: the same kind and settings, in rounds with at least half the
  // results of the largest round.
  Baseline Of(const std::string& group, const Baseline& now);

  // The endpoint started a probe, or failed before the fabric was involved.
  void MarkStarted(std::uint32_t endpoint) { started_.insert(endpoint); }
  void MarkFailed(std::uint32_t endpoint) { failed_.insert(endpoint); }
  // True when more endpoints always fail than start. Then they have a common cause, such as a
  // driver, and a failure does not count against the endpoint.
  bool MostFail() const;

 private:
  std::map<std::string, Baseline> known_;
  std::set<std::uint32_t> started_;
  std::set<std::uint32_t> failed_;
};

// Converts results to observations, in order. A result can give several (one for each flow label or
// direction) or none (refused because a port was busy, cancelled, or a port outside `fabric`).
// Speeds and latencies are relative to `results` and `baselines`, which is updated.
std::vector<Observation> ObservationsOf(
    const Fabric& fabric, const google::protobuf::RepeatedPtrField<v1::PairResult>& results,
    Baselines& baselines);
std::vector<Observation> ObservationsOf(
    const Fabric& fabric, const google::protobuf::RepeatedPtrField<v1::PairResult>& results);

// Suspects refer to the `findings` about them. `counters` raise the probability of some suspects
// (see counters.h).
v1::BlameReport Judge(const Fabric& fabric, std::span<const Observation> observations,
                      std::span<const v1::Finding> findings = {},
                      std::span<const PortCounters> counters = {});

// A pair of endpoints to probe next.
struct ProbeRequest {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool repeat = false;  // The pair itself is suspected: probing it again confirms or clears it

  friend bool operator==(const ProbeRequest&, const ProbeRequest&) = default;
};

// State of a campaign after a round: whether it can end, and otherwise what to probe next.
struct Assessment {
  // More rounds would not change the report: each fault has one suspect, or several that no probe
  // can distinguish; no other component is suspicious; and every usable endpoint has enough
  // partners to be called healthy.
  bool decided = false;
  // One line: the missing information ("n7/mlx5_0/1 may have a fault"), or the suspects that cannot
  // be distinguished.
  std::string open_question;
  // Set if `open_question` is about a suspicious component: its kind, name and location.
  std::optional<v1::Suspect> suspicious;
  // Probes that give the most information, best first, each endpoint at most once: suspects with
  // new partners that are known to be good. Empty when decided, or when only the planned pairs
  // help.
  std::vector<ProbeRequest> next;
  // The newest round probed all of `next` without a decision: run planned pairs first.
  bool next_already_tried = false;
  // Seconds to wait before `next`, by the times of the results. A probe before that could see the
  // same pause of a host again.
  double wait_s = 0;
  v1::BlameReport report;
};

// `usable`: endpoints that may take part; empty: all observed endpoints.
Assessment Assess(const Fabric& fabric, std::span<const Observation> observations,
                  std::span<const std::uint32_t> usable = {},
                  std::span<const v1::Finding> findings = {},
                  std::span<const PortCounters> counters = {});

}  // namespace fabric::blame
