// Reader of opensm-subnet.lst: one line for each end of a cable. It also marks the ports that run a
// subnet manager. Source: opensm, opensm/osm_dump.c.
#include <algorithm>
#include <utility>

#include "subnet/files/formats.h"
#include "subnet/files/scanner.h"

namespace fabric::subnet {
namespace {

// One of the two groups of a line: { CA-SM Ports:01 ... NodeGUID:... {n1 mlx5_0} LID:0001 PN:01 }
struct ListedEnd {
  NodeType type = NodeType::kUnknown;
  bool runs_manager = false;
  std::uint64_t system_guid = 0;
  std::uint64_t node_guid = 0;
  std::uint64_t port_guid = 0;
  std::uint32_t ports = 0;
  std::uint32_t device_id = 0;
  std::uint32_t lid = 0;
  std::uint32_t port = 0;
  std::string_view description;
};

std::optional<std::uint64_t> HexAfter(std::string_view text, std::string_view word) {
  auto at = Scanner::After(text, word);
  const auto value = at ? at->Hex() : std::nullopt;
  return value && at->AtWordEnd() ? value : std::nullopt;
}

// Whether all words are fields such as "LID:0001". Others are parts of a damaged value.
bool AreFields(std::string_view text) {
  return std::ranges::all_of(Words(text),
                             [](std::string_view word) { return word.find(':') != word.npos; });
}

std::optional<ListedEnd> ReadListedEnd(std::string_view text) {
  ListedEnd end;
  Scanner at(text);
  at.Blanks();
  if (at.Eat("SW"))
    end.type = NodeType::kSwitch;
  else if (at.Eat("CA"))
    end.type = NodeType::kAdapter;
  else if (at.Eat("Rt"))
    end.type = NodeType::kRouter;
  else if (at.Eat("**"))
    end.type = NodeType::kUnknown;
  else
    return std::nullopt;
  end.runs_manager = at.Eat("-SM");
  // Without a description, the braces can be missing.
  const std::size_t open = std::min(text.find('{'), text.rfind(" LID:"));
  const std::size_t close = text.rfind('}');
  if (open == std::string_view::npos) return std::nullopt;
  const bool has_braces = close != std::string_view::npos && text[open] == '{' && close > open;
  if (!has_braces && (close != std::string_view::npos || text[open] == '{')) return std::nullopt;
  const std::string_view head = text.substr(0, open);
  const std::string_view tail = text.substr(has_braces ? close + 1 : open);
  const std::size_t first = head.find("Ports:");
  if (first == head.npos || !AreFields(head.substr(first)) || !AreFields(tail)) return std::nullopt;
  if (has_braces) end.description = Trim(text.substr(open + 1, close - open - 1));
  const auto ports = HexAfter(head, "Ports:");
  const auto node_guid = HexAfter(head, "NodeGUID:");
  const auto lid = HexAfter(tail, "LID:");
  const auto port = HexAfter(tail, "PN:");
  if (!ports || !node_guid || !lid || !port || *lid > 0xffff || *port > kPortsMax || *port == 0)
    return std::nullopt;
  end.ports = static_cast<std::uint32_t>(*ports);
  end.node_guid = *node_guid;
  end.system_guid = HexAfter(head, "SystemGUID:").value_or(0);
  end.port_guid = HexAfter(head, "PortGUID:").value_or(0);
  end.device_id = static_cast<std::uint32_t>(HexAfter(head, "DevID:").value_or(0));
  end.lid = static_cast<std::uint32_t>(*lid);
  end.port = static_cast<std::uint32_t>(*port);
  return end;
}

struct LaneSpeed {
  std::string_view text;
  Speed speed;
};
constexpr LaneSpeed kLaneSpeeds[] = {
    {"2.5", Speed::kSdr},     {"5", Speed::kDdr},   {"10", Speed::kQdr},
    {"FDR10", Speed::kFdr10}, {"14", Speed::kFdr},  {"25", Speed::kEdr},
    {"50", Speed::kHdr},      {"100", Speed::kNdr}, {"200", Speed::kXdr}};

// PHY=4x LOG=ACT SPD=50
void ReadLink(std::string_view text, Port& port) {
  for (const std::string_view word : Words(text)) {
    Scanner at(word);
    if (at.Eat("PHY=")) {
      if (const auto rate = ParseRate(Format("{}?", at.rest()))) port.rate.lanes = rate->lanes;
    } else if (at.Eat("LOG=")) {
      port.state = at.rest() == "ACT"   ? LinkState::kActive
                   : at.rest() == "ARM" ? LinkState::kArmed
                   : at.rest() == "INI" ? LinkState::kInit
                   : at.rest() == "DWN" ? LinkState::kDown
                                        : LinkState::kUnknown;
    } else if (at.Eat("SPD=")) {
      for (const LaneSpeed& row : kLaneSpeeds)
        if (at.rest() == row.text) port.rate.speed = row.speed;
    }
  }
}

std::optional<End> AddEnd(const ListedEnd& listed, bool own, Builder& builder) {
  const std::uint32_t index = builder.NodeOf(listed.type, listed.node_guid);
  if (index == kNoNode) return std::nullopt;
  Node& node = builder.node(index);
  if (own) {
    node.listed = true;
    // The far end's device id has another byte order.
    node.device_id = listed.device_id;
  }
  node.port_count = listed.ports;
  node.system_guid = listed.system_guid;
  node.description = listed.description;
  const End end{index, listed.port};
  const bool is_switch = listed.type == NodeType::kSwitch;
  Port* const lid_of = builder.PortOf(is_switch ? End{index, 0} : end);
  if (lid_of == nullptr || builder.PortOf(end) == nullptr) return std::nullopt;
  Port& address = *builder.PortOf(is_switch ? End{index, 0} : end);
  address.lid = static_cast<std::uint16_t>(listed.lid);
  address.guid = listed.port_guid;
  address.runs_manager = address.runs_manager || listed.runs_manager;
  return end;
}

class SubnetListReader {
 public:
  SubnetListReader(const std::string& file, Builder& builder) : file_(file), builder_(builder) {}

  void Line(std::size_t number, std::string_view line) {
    if (line.empty() || line.starts_with('#')) return;
    if (OnCable(line)) return;
    builder_.AddProblem({file_, number,
                         Format("expected a cable such as {{ SW Ports:24 ... }} {{ CA Ports:01 "
                                "... }} PHY=4x LOG=ACT SPD=50, saw {}",
                                Quoted(line))});
    // The line can belong to the device before or behind it.
    MarkHere();
    lost_line_ = true;
  }

  void Done() {
    MarkHere();
    builder_.AddSource({file_, std::string(kSubnetListFormat.name), {}});
  }

 private:
  void MarkHere() {
    if (here_ != kNoNode) builder_.node(here_).can_lack_cables = true;
  }

  bool OnCable(std::string_view line) {
    constexpr std::string_view kBetween = " } { ";
    constexpr std::string_view kLink = " PHY=";
    const std::size_t middle = line.find(kBetween);
    const std::size_t end = line.rfind(" } ");
    if (!line.starts_with("{ ") || middle == line.npos || end <= middle ||
        line.find(kLink) != line.rfind(kLink))
      return false;
    const auto from = ReadListedEnd(line.substr(2, middle - 2));
    const std::size_t second = middle + kBetween.size();
    const auto to = ReadListedEnd(line.substr(second, end - second));
    if (!from || !to) return false;
    const auto own = AddEnd(*from, true, builder_);
    const auto far = AddEnd(*to, false, builder_);
    if (!own || !far) return false;
    here_ = own->node;
    if (std::exchange(lost_line_, false)) MarkHere();
    ReadLink(line.substr(end + 3), *builder_.PortOf(*own));
    builder_.AddCable(*own, *far);
    return true;
  }

  const std::string& file_;
  Builder& builder_;
  std::uint32_t here_ = kNoNode;  // The device of the last line
  bool lost_line_ = false;        // Since that line
};

bool IsListLine(std::string_view line) {
  return line.starts_with("{ ") && line.find(" NodeGUID:") != std::string_view::npos;
}

void ReadSubnetList(const std::string& file, std::string_view text, Builder& builder) {
  SubnetListReader reader(file, builder);
  ForEachLine(text, [&](std::size_t number, std::string_view line) { reader.Line(number, line); });
  reader.Done();
}

}  // namespace

const FileFormat kSubnetListFormat = {.name = "opensm-subnet.lst",
                                      .made_by = "opensm -D 0x43",
                                      .recognises = IsListLine,
                                      .read = ReadSubnetList,
                                      .lists_cables = true};

}  // namespace fabric::subnet
