// Drift: the figures of a port or pair differ from those of its own past runs. Pure.
//
// A port's figure is the median over its pairs. It drifts if it is worse than the median of its
// past by more than a minimum effect, by several times the usual variation (of its own past, or of
// all series if that is more), and worse than each past value. Its pairs have to be worse than
// their own past too: in a run with other pairs (busy ports are left out) the median differs. A
// pair has to do so in two runs in sequence. So a noisy figure gives no alarm.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fabric/v1/blame.pb.h"
#include "fabric/v1/probe.pb.h"
#include "fabric/v1/schedule.pb.h"

namespace fabric::control {

inline constexpr int kDriftRunsMin = 7;               // Past values that are needed
inline constexpr int kDriftRunsKept = 32;             // Of each series
inline constexpr std::size_t kDriftSeriesMax = 4096;  // Ports, and pairs

// Figures of one run, from its results.
class RunFigures {
 public:
  // Takes the first bandwidth and the first latency of each pair; results without them are ignored.
  void Take(const v1::PairResult& result);

  struct Figures {
    std::optional<double> bandwidth_bps;
    std::optional<double> latency_us;
  };
  struct Pair {
    v1::ProbePort from;
    v1::ProbePort to;
    Figures figures;
  };
  const std::map<std::string, Pair>& pairs() const { return pairs_; }
  // Of ports with at least three pairs.
  std::map<std::string, Figures> Ports() const;

 private:
  std::map<std::string, Pair> pairs_;
};

// Ports and pairs whose figures drifted in this run, against the record. A pair of a port that
// drifted is left out. If a third of the ports drifted, they are one suspect: the fabric.
std::vector<v1::Suspect> Drifts(const RunFigures& run, const v1::ScheduleRecord& record);

// Names of the ports and pairs that this run compares with their past. Others keep their findings.
std::set<std::string> Compared(const RunFigures& run, const v1::ScheduleRecord& record);

// Adds the run to the record, within its bounds. Figures of parts that drifted are not added: they
// would become usual.
void AddRun(const RunFigures& run, const std::vector<v1::Suspect>& drifted,
            v1::ScheduleRecord& record);

}  // namespace fabric::control
