// The life of findings: what each evaluation opens, changes and resolves.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/control/outbox.h"
#include "daemon/fleet/fleet.h"
#include "daemon/rules/engine.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::control {

class FindingBook {
 public:
  explicit FindingBook(Outbox& outbox) : outbox_(outbox) {}

  // Open ones from the store, after a restart.
  void Restore(std::vector<v1::Finding> open);

  // Opens what is new, changes what reads differently and resolves what is no longer found; each of
  // these is stored and published once. Findings about lost nodes alone stay as they are until the
  // node is back: nothing is known about them now.
  void Take(rules::Delta delta, const fleet::Fleet& fleet, Moment now);

  const std::map<std::string, v1::Finding>& open() const { return open_; }  // By id
  const v1::VerdictCounts& counts() const { return counts_; }               // Of the last Take
  std::uint32_t FailingOn(const std::string& node) const;

 private:
  void Find(v1::Finding finding, Moment now);
  void Resolve(v1::Finding finding, Moment now);
  void Count(const v1::Finding& finding, std::uint32_t change);
  void Record(const v1::Finding& finding, Moment now);

  Outbox& outbox_;
  std::map<std::string, v1::Finding> open_;
  std::set<std::string> unfound_;  // Of the open ones those that the rules do not find now
  v1::VerdictCounts counts_;
  std::map<std::string, std::uint32_t> failing_;  // By node
};

// True when the finding's subject is a node that is not connected, or has no node and the nodes
// that its evidence names are all lost ones.
bool AboutLostNodes(const v1::Finding& finding, const fleet::Fleet& fleet);

}  // namespace fabric::control
