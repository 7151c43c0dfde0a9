// Builder of a Subnet: collects what the lines of the sources say, and compares both ends of each
// cable at the end.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "subnet/model.h"

namespace fabric::subnet {

class Builder {
 public:
  // Above these bounds a source is not a subnet: the text is refused line by line.
  static constexpr std::size_t kNodesMax = 65'536;
  static constexpr std::size_t kPortsInAllMax = 1'000'000;
  static constexpr std::size_t kRouteBytesMax = std::size_t{512} << 20;

  // The node with this GUID; a new one if it is unknown. kNoNode above the bound.
  std::uint32_t NodeOf(NodeType type, std::uint64_t guid);
  Node& node(std::uint32_t index) { return made_.nodes_[index]; }
  // The port; nullptr above the bounds. The pointer is valid until the next call.
  Port* PortOf(End end);
  // `from` reports a cable to `to`. Both nodes exist.
  void AddCable(End from, End to);
  // Where tables of one time begin.
  struct TableSource {
    std::string file;
    std::size_t line = 0;  // 0: the file as a whole
    friend auto operator<=>(const TableSource&, const TableSource&) = default;
  };
  // The table of a switch in `source` follows. If another source has a table of the switch, this
  // one is used; if the two differ, no table of the other source is used.
  void BeginTable(std::uint32_t node, const TableSource& source);
  // Sets an entry of the forwarding table of a switch. False above the bound.
  bool AddRoute(std::uint32_t node, std::uint32_t lid, std::uint8_t port);
  // The table has all its entries: the other LIDs have no route.
  void CompleteRoutes(std::uint32_t node);
  // As above, for the LIDs from `first` to `last`.
  void CompleteRoutes(std::uint32_t node, std::uint32_t first, std::uint32_t last);
  // The source could not read these LIDs of a switch: they are unknown, also if they have entries.
  void ForgetRoutes(std::uint64_t guid, std::uint32_t first, std::uint32_t last);
  // Tables of one time are not used, or no tables at all: the cables can be of another time.
  struct TableDoubt {
    std::string reason;       // "expected ..., saw ..."; empty: no doubt
    bool of_several = false;  // Also if a source with later tables replaced another one.
  };
  void SetTableDoubt(TableDoubt doubt) { doubt_ = std::move(doubt); }
  void AddManager(const Manager& manager);
  void SetUnanswered(const std::string& file) { made_.unanswered_ = file; }
  // The description of this node, instead of what sources report.
  void SetName(std::uint64_t guid, std::string_view name);
  // The details of a port; nullptr above the bounds. The pointer is valid until the next call.
  PortDetails* DetailsOf(End end);
  void SetReading(Reading reading) { made_.reading_ = std::move(reading); }
  void AddSource(Source source) { made_.sources_.push_back(std::move(source)); }
  void AddProblem(Problem problem) { made_.problems_.Add(std::move(problem)); }

  Subnet Finish();

 private:
  void CompareEnds(End from);
  void AdoptEnds(End from);
  void ForgetUnread();
  void DropEarlierTables();
  void DropLooseTables();
  void ForgetRoutesToUnknownCables();
  void SetNames();
  void FindSharedNames();

  struct Unread {
    std::uint64_t guid = 0;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };

  struct EarlierTable {
    std::uint32_t node = kNoNode;
    TableSource source;
    Node table;  // Routes only
  };

  Subnet made_;
  std::size_t ports_ = 0;
  std::size_t route_bytes_ = 0;
  std::vector<Unread> unread_;
  std::unordered_map<std::uint32_t, TableSource> table_sources_;  // By node
  std::vector<EarlierTable> earlier_;
  TableDoubt doubt_;
  std::vector<std::pair<std::uint64_t, std::string>> names_;
};

}  // namespace fabric::subnet
