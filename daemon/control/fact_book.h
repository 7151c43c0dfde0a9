// What changed on nodes, written down as reports come. Settings only: counters change all the time.
// A report costs what it touches, and nothing when it has counters alone.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "daemon/control/outbox.h"
#include "daemon/facts/flatten.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::control {

class FactBook {
 public:
  explicit FactBook(Outbox& outbox) : outbox_(outbox) {}

  // What a report touches, as it was before.
  struct Page {
    std::optional<v1::SnapshotChange> touched;
    facts::Facts before;
  };
  static Page Open(const v1::NodeSnapshot& before, const v1::SnapshotChange& change);
  static Page Open(const v1::NodeSnapshot& before, const v1::NodeSnapshot& after);

  // Writes down what of the page is different now; begins the log of a node that is new.
  void Close(const Page& page, const v1::NodeSnapshot& after, Moment now);

  // What differs since `seconds` ago, and since when that is known.
  Status Since(const std::string& node, std::uint32_t seconds, Moment now,
               v1::DiffNodeResponse& response);

 private:
  Outbox& outbox_;
  std::set<std::string> begun_;
};

}  // namespace fabric::control
