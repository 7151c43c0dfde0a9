// Finding registry: opens, changes and resolves findings from evaluations, and applies
// acknowledgements and silences. Each step is stored in the finding's history and published.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/control/findings/affected_nodes.h"
#include "daemon/control/findings/lifecycle.h"
#include "daemon/control/findings/silences.h"
#include "daemon/control/outbox.h"
#include "daemon/control/restoring.h"
#include "daemon/fleet/fleet.h"
#include "daemon/rules/engine/engine.h"
#include "fabric/v1/fabric.pb.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::control {

class FindingRegistry {
 public:
  explicit FindingRegistry(Outbox& outbox, const LifecycleOptions& options = {})
      : outbox_(outbox), options_(options) {}

  // Called with each open finding when it is added (1) and, unchanged, when it is removed (-1). A
  // finding that changes is removed and added. Call it before Restore and Take.
  using Counter = std::function<void(const v1::Finding& finding, int change)>;
  void CountWith(Counter counter) { counter_ = std::move(counter); }

  // Open findings and silences from the store. After a restart, findings count as expired until the
  // first evaluation finds them again.
  void Restore(std::vector<v1::Finding> open, std::vector<v1::Silence> silences, Moment now,
               Restoring restoring = Restoring::kToLead);

  // Applies an evaluation: opens new findings, changes and resolves known ones; each step is stored
  // and published once. Findings about lost nodes that are no longer found stay unchanged until
  // these nodes are back or removed.
  // For flapping findings see lifecycle.h.
  void Take(rules::Delta delta, const fleet::Fleet& fleet, Moment now);
  // The same in steps: Begin, then Advance until it returns false. No other evaluation begins
  // before.
  void Begin(rules::Delta delta);
  bool Advance(const fleet::Fleet& fleet, Moment now);
  // Steps of the last evaluation are left.
  bool busy() const { return work_.has_value(); }

  // All rules judge again: open findings that the next Take does not find are resolved.
  void ExpectAll();

  // Opens waiting findings, resolves those whose hold time is over, ends silences. Each call does a
  // bounded part. True: more is left.
  bool Tick(const fleet::Fleet& fleet, Moment now);
  // The same for changes of silences: applies them to the next findings.
  bool ApplySilences(Moment now);

  const std::map<std::string, v1::Finding>& open() const { return open_; }  // By id
  // Ids of the open findings in the order of lists: the most severe first.
  const std::map<std::string, std::string>& ordered() const { return ordered_; }  // By OrderKey
  static std::string OrderKey(const v1::Finding& finding);
  std::vector<v1::Finding> Failing() const;  // Open, with the verdict FAIL
  // Passes the next open findings to `take`, in the order of their ids: findings behind the id
  // `after`, which moves on. Empty: from the first. False: these were the last.
  static constexpr std::size_t kFindingsOfRead = 1'000;
  template <class Take>
  bool ReadOpen(std::string& after, Take take) const {
    return ReadSome(open_, after, take);
  }
  // Those of them with the verdict FAIL.
  template <class Take>
  bool ReadFailing(std::string& after, Take take) const {
    return ReadOpen(after, [&](const v1::Finding& finding) {
      if (finding.verdict() == v1::VERDICT_FAIL) take(finding);
    });
  }
  // The same for findings that are found by rules and not opened yet, because the machine booted
  // recently.
  template <class Take>
  bool ReadHeld(std::string& after, Take take) const {
    return ReadSome(lifecycles_, after, [&](const FindingLifecycle& lifecycle) {
      if (lifecycle.waiting()) take(*lifecycle.waiting());
    });
  }
  // Moves on when a finding changes, so that who reads in several turns can tell.
  std::uint64_t changes() const { return changes_; }
  const v1::VerdictCounts& counts() const { return counts_; }  // Of the last Take
  // Adds what blame reads of the next of them: id and subject, without those that blame located.
  bool ReadForBlame(std::string& after, std::vector<v1::Finding>& findings) const;
  std::vector<v1::Finding> ForBlame() const;  // All of these
  // Sets `expired` on an open finding that rules cannot judge now, because a node is lost.
  v1::Finding WithExpiry(v1::Finding finding, const fleet::Fleet& fleet) const;
  std::uint32_t FailingOn(const std::string& node) const;

  // What a person orders is stored durably, or fails with UNAVAILABLE and changes nothing. Other
  // errors: INVALID_ARGUMENT, NOT_FOUND and RESOURCE_EXHAUSTED as in silences.h. An id of a finding
  // may be a prefix: INVALID_ARGUMENT when several findings match.
  Result<v1::Finding> Find(const std::string& id) const;  // Open or resolved
  // FAILED_PRECONDITION when the finding is resolved.
  Result<v1::Finding> Acknowledge(const v1::AcknowledgeFindingRequest& request, Moment now);
  // The call applies a bounded part of the change; ApplySilences() applies the rest.
  Result<v1::Silence> AddSilence(const v1::CreateSilenceRequest& request, Moment now);
  Result<v1::Silence> EndSilence(const v1::DeleteSilenceRequest& request, Moment now);
  const Silences& silences() const { return silences_; }

 private:
  static constexpr std::size_t kFindingsOfStep = 100;
  static constexpr std::size_t kComparedOfStep = 100'000;  // Findings with silences

  struct Said {
    std::string author;
    std::string note;
  };
  // Applies the silences to all open findings.
  struct Pass {
    Said why;
    std::string after;  // Id of the last finding that was compared
  };
  // An evaluation that is being applied.
  struct Work {
    rules::Delta delta;
    std::vector<std::string> found;                // Ids of delta.found
    std::optional<std::vector<std::string>> rest;  // Of unfound_, when the others are done
    std::size_t next_found = 0, next_gone = 0, next_silence = 0, next_rest = 0;
  };
  template <class Map, class Take>
  static bool ReadSome(const Map& map, std::string& after, Take take) {
    std::size_t left = kFindingsOfRead;
    auto at = map.upper_bound(after);
    for (; at != map.end() && left > 0; ++at, --left) {
      after = at->first;
      take(at->second);
    }
    return at != map.end();
  }
  // Calls `apply` for the next elements. True: this was not the end.
  template <class List, class Apply>
  static bool Some(List& list, std::size_t& next, std::size_t& left, Apply apply);
  void Found(v1::Finding judgement, const fleet::Fleet& fleet, Moment now);
  void Gone(const std::string& id, const fleet::Fleet& fleet, Moment now);
  std::vector<std::string> NextDue(Moment now) const;
  void AdvanceLifecycle(const std::string& id, const fleet::Fleet& fleet, Moment now);
  std::optional<v1::Finding> TakeOut(const std::string& id);
  void PutBack(const std::string& id, std::optional<v1::Finding> finding,
               const FindingLifecycle& lifecycle, Step step, Moment now);
  void Count(const v1::Finding& finding, int change);
  const v1::Silence* SilenceOf(const v1::Finding& finding) const;
  bool ApplySilence(v1::Finding& finding, const Said& why, Moment now);
  void BeginPass(Said why);
  static v1::FindingRecord RecordOf(const v1::Finding& finding, v1::FindingAction action,
                                    const Said& said, Moment now);
  void Record(const v1::Finding& finding, v1::FindingAction action, const Said& said, Moment now);
  void Publish(const v1::Finding& finding, Moment now);
  Status Store(const v1::Silence& silence);

  Outbox& outbox_;
  const LifecycleOptions options_;
  Counter counter_;
  std::map<std::string, v1::Finding> open_;
  std::map<std::string, std::string> ordered_;
  std::map<std::string, FindingLifecycle> lifecycles_;  // Of findings with a state to remember
  // Open findings that the rules do not find now, while the state of their nodes is unknown.
  std::set<std::string> unfound_;
  Silences silences_;
  v1::VerdictCounts counts_;
  std::map<std::string, std::uint32_t> failing_;  // By node
  std::uint64_t changes_ = 0;
  SteadyTime ticked_at_{};
  std::optional<std::string> tick_after_;  // Id of the last lifecycle that Tick() looked at
  std::deque<Pass> passes_;                // In the order in which silences changed
  std::optional<Work> work_;
};

}  // namespace fabric::control
