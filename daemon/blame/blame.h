// From what probes saw to the part of the fabric that is to blame. Pure and deterministic: the same
// observations in the same order give the same report. How it decides: docs/design/blame.md.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "daemon/blame/counters.h"
#include "daemon/blame/fabric.h"
#include "daemon/blame/observation.h"
#include "fabric/v1/blame.pb.h"
#include "fabric/v1/finding.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::blame {

// What was usual in all results so far: a few, such as those of a round of few pairs, are compared
// with that. A value.
class Usual {
 public:
  struct Figures {
    double reached = 0;     // By the better quarter
    double noise = 0;       // As Observation.noise
    std::size_t count = 0;  // Of figures that this is drawn from
  };
  // Of the figures of these equals that are there now, or of earlier ones where those were many and
  // these are few. Equals are probes of the same kind and settings, in rounds of at least half as
  // many as the largest round has.
  Figures Of(const std::string& equals, const Figures& now);

  // At that place a probe could begin, or failed by itself before the fabric had a part in it.
  void Begins(std::uint32_t place) { begun_.insert(place); }
  void Fails(std::uint32_t place) { failed_.insert(place); }
  // Who fails first is named in the result; where more places never begin than do the reason is one
  // that they share, and says nothing of any of them.
  bool MostFail() const;

 private:
  std::map<std::string, Figures> known_;
  std::set<std::uint32_t> begun_;
  std::set<std::uint32_t> failed_;
};

// What results say, in their order; some give several (one for each flow label, one for each
// direction), some none (refused because a port was busy, cancelled, ports that are not of
// `fabric`). What they are compared with is in `results` themselves, and in `usual`, which learns.
std::vector<Observation> ObservationsOf(
    const Fabric& fabric, const google::protobuf::RepeatedPtrField<v1::PairResult>& results,
    Usual& usual);
std::vector<Observation> ObservationsOf(
    const Fabric& fabric, const google::protobuf::RepeatedPtrField<v1::PairResult>& results);

// `findings`, if given, are referred to by the suspects that they are about; `counters` make some
// suspects likelier than others (see counters.h).
v1::BlameReport Judge(const Fabric& fabric, std::span<const Observation> observations,
                      std::span<const v1::Finding> findings = {},
                      std::span<const PortCounters> counters = {});

// Two places that should be probed next.
struct Wanted {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool once_more = false;  // Whether the pair itself is bad: that shows when it is probed again.

  friend bool operator==(const Wanted&, const Wanted&) = default;
};

// Where a campaign that ends when it is decided stands after a round.
struct Standing {
  // More rounds would not change the report: each trouble has its suspect, or suspects that look
  // the same however often they are probed; nothing else is suspicious, and every place in use was
  // seen with enough partners to say that nothing is wrong with it.
  bool decided = false;
  // What is missing, one line: "n7/mlx5_0/1 is suspicious"; or which suspects look the same.
  std::string open;
  // Pairs that would decide, the most telling first, no place twice: suspects with partners that
  // are known to be good and that they have not met. Empty when decided, or when only more of the
  // planned pairs can help.
  std::vector<Wanted> next;
  // All of `next` were probed in the newest round, and did not decide: planned pairs are to come
  // first.
  bool again = false;
  // So long to wait before `next`, by the times of the results: what would be seen before that may
  // be the same pause of a host.
  double wait_s = 0;
  v1::BlameReport report;
};

// `usable` are the places that may take part; empty: all that were observed.
Standing Stand(const Fabric& fabric, std::span<const Observation> observations,
               std::span<const std::uint32_t> usable = {},
               std::span<const v1::Finding> findings = {},
               std::span<const PortCounters> counters = {});

}  // namespace fabric::blame
