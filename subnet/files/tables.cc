// Readers of forwarding tables: output of dump_lfts, opensm-lfts.dump and opensm.fdbs.
// Sources: rdma-core, infiniband-diags/dump_fts.c; opensm, opensm/osm_dump.c.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "subnet/files/formats.h"
#include "subnet/files/scanner.h"

namespace fabric::subnet {
namespace {

constexpr std::string_view kLftsHead = "Unicast lids [";
constexpr std::string_view kFdbsHead = "dump_ucast_routes: Switch ";
constexpr std::size_t kPortDigits = 3;
constexpr std::string_view kEntryOfOpensm = " portguid 0x";
constexpr std::string_view kNotRead = "SubnGet(LFT) failed on switch ";  // On standard error

// Also "osm_ucast_mgr_dump_ucast_routes: Switch " of ibdiagnet2.fdbs.
bool IsFdbsHead(std::string_view line) {
  constexpr std::string_view kManager = "osm_ucast_mgr_";
  if (line.starts_with(kManager)) line.remove_prefix(kManager.size());
  return line.starts_with(kFdbsHead);
}

// LIDs of a table, both ends included: "[0x0-0x40]" of dump_lfts, "[0-64]" of opensm.
struct LidRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

std::optional<std::uint32_t> ReadLid(Scanner& at) {
  if (!at.rest().starts_with("0x")) return at.Decimal();
  const auto lid = at.Hex();
  if (!lid || *lid > kUnicastLidMax) return std::nullopt;
  return static_cast<std::uint32_t>(*lid);
}

std::optional<LidRange> ReadRange(std::string_view line) {
  Scanner at(line.substr(kLftsHead.size()));
  const auto first = ReadLid(at);
  const auto last = first && at.Eat("-") ? ReadLid(at) : std::nullopt;
  if (!last || !at.Eat("]") || *last > kUnicastLidMax || *first > *last) return std::nullopt;
  return LidRange{*first, *last};
}

// What the number below a table counts.
enum class Trailer : std::uint8_t {
  kNone,     // opensm.fdbs has none, and lists LIDs without a route.
  kEntries,  // dump_lfts
  kLastLid,  // opensm-lfts.dump: the last LID of the header
};

class TableReader {
 public:
  TableReader(const std::string& file, Builder& builder) : file_(file), builder_(builder) {}

  void Line(std::size_t number, std::string_view line) {
    line_ = number;
    // The end of a cut entry of opensm-lfts.dump also begins with '#'.
    if (line.empty() || (line.starts_with('#') && line.find(kEntryOfOpensm) == line.npos)) return;
    if (line.starts_with(kLftsHead)) return BeginLfts(line);
    if (IsFdbsHead(line)) return Begin(line, Scanner::After(line, "Switch "));
    if (line.find(kNotRead) != std::string_view::npos) return OnNotRead(line);
    if (line.starts_with("Multicast mlids [")) {
      End();
      in_multicast_ = true;
      return;
    }
    if (OnPrivateTable(line) || in_multicast_ || in_private_ || OnHeading(line)) return;
    if (line.find(" lids dumped") != std::string_view::npos) return OnTrailer(line);
    if (line.starts_with("0x")) return Entry(line);
    Bad("an entry such as '0x0001 005'", line);
  }

  void Done() {
    End();
    Complete();
  }

 private:
  // The first heading of a table follows the line of its switch. Above entries, that line is lost.
  bool OnHeading(std::string_view line) {
    const bool first = line.starts_with("Lid  Out") || line.starts_with("LID    : Port");
    if (first && entries_ > 0) {
      const bool known = bad_ > 0;
      End();
      if (!known) Bad("a line with the GUID of the switch above this heading", line);
      bad_ = 1;  // One problem for the lost line; its entries are none.
    }
    return first || line.starts_with("Port     Info") ||
           line.starts_with("*** WARNING ***: this command has been replaced");  // By dump_lfts
  }

  // "PLFT_NUM: 0" of ibdiagnet. Packets of some routing engines use the private tables above 0.
  bool OnPrivateTable(std::string_view line) {
    constexpr std::string_view kPrivateTable = "PLFT_NUM:";
    if (!line.starts_with(kPrivateTable)) return false;
    in_private_ = Trim(line.substr(kPrivateTable.size())) != "0";
    if (in_private_ && !std::exchange(has_private_, true))
      builder_.AddProblem({file_, line_,
                           Format("expected one forwarding table for each switch, saw {}: only the "
                                  "tables 0 are used",
                                  Quoted(line))});
    return true;
  }

  void Bad(std::string_view expected, std::string_view line) {
    ++bad_;
    builder_.AddProblem({file_, line_, Format("expected {}, saw {}", expected, Quoted(line))});
  }

  // Unicast lids [0x0-0x8] of switch DR path ... guid 0x0000000000100002 (leaf-2):
  // Unicast lids [0-8] of switch Lid 2 guid 0x0000000000100002 ('leaf-2'):
  void BeginLfts(std::string_view line) {
    const auto at = Scanner::After(line, " guid ");
    const auto range = ReadRange(line);
    Begin(line, range && line.ends_with("):") ? at : std::nullopt);
    if (here_ == kNoNode) return;
    range_ = *range;
    const bool by_opensm = at->rest().find("('") != std::string_view::npos;
    trailer_ = by_opensm ? Trailer::kLastLid : Trailer::kEntries;
  }

  void Begin(std::string_view line, std::optional<Scanner> at) {
    End();
    in_multicast_ = in_private_ = false;
    const auto guid = at ? at->Hex() : std::nullopt;
    if (!guid || !at->AtWordEnd())
      return Bad("LIDs such as [0x0-0x40] and a switch with its GUID", line);
    here_ = builder_.NodeOf(NodeType::kSwitch, *guid);
    if (here_ == kNoNode) return Bad("at most 65536 nodes", line);
    if (seen_.contains(here_) && here_ != first_) {
      here_ = kNoNode;
      return Bad("one table for each switch", line);
    }
    if (seen_.empty() || here_ == first_) BeginTables();
    seen_.insert(here_);
    builder_.BeginTable(here_, source_);
    Node& node = builder_.node(here_);
    if (node.description.empty()) node.description = Description(at->rest());
  }

  // The tables of another time begin with that of the first switch once more.
  void BeginTables() {
    Complete();
    dumped_.clear();
    seen_.clear();
    first_ = here_;
    source_ = {.file = file_, .line = line_};
  }

  // "leaf-2" of " (leaf-2):" or " ('leaf-2'):"
  static std::string_view Description(std::string_view rest) {
    const std::size_t open = rest.find('(');
    const std::size_t close = rest.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
      return {};
    std::string_view text = rest.substr(open + 1, close - open - 1);
    if (text.size() >= 2 && text.starts_with('\'') && text.ends_with('\''))
      text = text.substr(1, text.size() - 2);
    return Trim(text);
  }

  // 0x0001 005 : (...)    0x0001 005 # ...    0x0001 : 005  : 01   : yes    0x0001 : UNREACHABLE
  void Entry(std::string_view line) {
    Scanner at(line);
    const auto lid = at.Hex();
    at.Blanks();
    if (at.Eat(":")) at.Blanks();
    const bool unreachable = at.Eat("UNREACHABLE");
    const std::size_t before = at.rest().size();
    const auto port = unreachable ? std::optional<std::uint32_t>(kNoRoute) : at.Decimal();
    const bool whole = at.AtWordEnd() && (unreachable || before - at.rest().size() == kPortDigits);
    const bool two = at.rest().find(kEntryOfOpensm) != at.rest().rfind(kEntryOfOpensm);
    if (!lid || !port || !whole || two || *lid > kUnicastLidMax || *lid == 0 || *port > 255 ||
        *port == kUnknownRoute)
      return Bad("an entry such as '0x0001 005'", line);
    if (here_ == kNoNode) {
      if (bad_ == 0) Bad("a line with the GUID of the switch before this entry", line);
      return;
    }
    if (!builder_.AddRoute(here_, static_cast<std::uint32_t>(*lid),
                           static_cast<std::uint8_t>(*port)))
      return Bad("tables of at most 512 MiB", line);
    ++entries_;
  }

  // "8 valid lids dumped" of dump_lfts, "100 lids dumped" of opensm
  void OnTrailer(std::string_view line) {
    if (here_ != kNoNode) {
      const auto count = Scanner(line).Decimal();
      const bool by_opensm = trailer_ == Trailer::kLastLid;
      const std::size_t expected = by_opensm ? range_.last : entries_;
      // Bad lines, which are problems already, can be the entries that are missing.
      const bool is_of_bad = count && bad_ > 0 && *count > entries_ && *count <= entries_ + bad_;
      if ((!count || *count != expected) && !(is_of_bad && !by_opensm))
        Bad(Format("{}; LIDs without an entry are unknown",
                   by_opensm ? Format("the last LID, {}", range_.last)
                             : Format("{} entries of the table above", entries_)),
            line);
      else if (by_opensm && bad_ == 0)
        builder_.CompleteRoutes(here_);
      else if (!by_opensm && *count == entries_)
        dumped_.emplace_back(here_, range_);
    }
    trailer_ = Trailer::kNone;
    End();
  }

  void End() {
    if (here_ != kNoNode && trailer_ != Trailer::kNone)
      builder_.AddProblem({file_, line_,
                           Format("expected the number of LIDs after the table of switch "
                                  "0x{:016x}, saw none; LIDs without an entry are unknown",
                                  builder_.node(here_).guid)});
    here_ = kNoNode;
    trailer_ = Trailer::kNone;
    entries_ = 0;
    bad_ = 0;
  }

  // SubnGet(LFT) failed on switch 'leaf-2' Lid 3 Node GUID 0x100002 SMA LID 3; MAD status 0x6e AM
  // 0x1: dump_lfts prints the entries of the block before once more.
  void OnNotRead(std::string_view line) {
    auto guid = Scanner::After(line, " Node GUID ");
    auto block = Scanner::After(line, " AM ");
    const auto guid_value = guid ? guid->Hex() : std::nullopt;
    const auto block_value = block ? block->Hex() : std::nullopt;
    if (!guid_value || !block_value || *block_value > kUnicastLidMax / kLidsOfBlock)
      return Bad("the GUID of a switch and a block (AM)", line);
    const auto first = static_cast<std::uint32_t>(*block_value) * kLidsOfBlock;
    builder_.ForgetRoutes(*guid_value, first, first + kLidsOfBlock - 1);
    builder_.AddProblem({file_, line_,
                         Format("expected LIDs {} to {} of switch 0x{:016x}, saw that dump_lfts "
                                "could not read them",
                                first, first + kLidsOfBlock - 1, *guid_value)});
  }

  // LIDs of a table of dump_lfts without an entry have no route. Whether the last LID is that of
  // the table or of the command is not known; the highest of all switches can be that of the
  // command. dump_lfts never reads the block that begins with the last LID.
  void Complete() {
    std::uint32_t highest = 0;
    for (const auto& [node, range] : dumped_) highest = std::max(highest, range.last);
    for (const auto& [node, range] : dumped_) {
      const bool printed = range.last % kLidsOfBlock != 0;
      if (printed || range.last > range.first)
        builder_.CompleteRoutes(node, range.first, printed ? range.last : range.last - 1);
      if (range.first == 0 && range.last < highest)
        builder_.CompleteRoutes(node, range.last + 1, highest);
    }
  }

  const std::string& file_;
  Builder& builder_;
  std::size_t line_ = 0;
  std::uint32_t here_ = kNoNode;
  Builder::TableSource source_;       // Of the first table
  std::uint32_t first_ = kNoNode;     // Switch of that table
  std::set<std::uint32_t> seen_;      // Switches with a table from there on
  LidRange range_;                    // Of the header
  Trailer trailer_ = Trailer::kNone;  // Expected below the table
  bool in_multicast_ = false;
  bool in_private_ = false;   // In a table that is not used
  bool has_private_ = false;  // One problem names the first one.
  std::uint32_t entries_ = 0;
  std::uint32_t bad_ = 0;                                   // Bad lines of this table
  std::vector<std::pair<std::uint32_t, LidRange>> dumped_;  // Tables of dump_lfts, by node
};

void ReadTables(const FileFormat& format, const std::string& file, std::string_view text,
                Builder& builder) {
  TableReader reader(file, builder);
  ForEachLine(text, [&](std::size_t number, std::string_view line) { reader.Line(number, line); });
  reader.Done();
  builder.AddSource({file, std::string(format.name), {}});
}

}  // namespace

const FileFormat kDumpLftsFormat = {
    .name = "dump_lfts",
    .made_by = "dump_lfts",
    .recognises =
        [](std::string_view line) {
          return line.starts_with(kLftsHead) || line.find(kNotRead) != std::string_view::npos;
        },
    .read = [](const std::string& file, std::string_view text,
               Builder& builder) { ReadTables(kDumpLftsFormat, file, text, builder); }};

const FileFormat kFdbsFormat = {
    .name = "opensm.fdbs",
    .made_by = "opensm -D 0x43",
    .recognises = IsFdbsHead,
    .read = [](const std::string& file, std::string_view text, Builder& builder) {
      ReadTables(kFdbsFormat, file, text, builder);
    }};

}  // namespace fabric::subnet
