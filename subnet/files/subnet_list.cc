// Reader of opensm-subnet.lst: one line for each end of a cable. It also marks the ports that run a
// subnet manager. Source: opensm, opensm/osm_dump.c.
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
  return at ? at->Hex() : std::nullopt;
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
  const std::size_t open = text.find('{');
  const std::size_t close = text.rfind('}');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;
  const std::string_view head = text.substr(0, open);
  const std::string_view tail = text.substr(close + 1);
  end.description = Trim(text.substr(open + 1, close - open - 1));
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

bool OnListLine(std::string_view line, Builder& builder) {
  const std::size_t middle = line.find(" } { ");
  const std::size_t end = line.rfind(" } ");
  if (!line.starts_with("{ ") || middle == std::string_view::npos || end <= middle) return false;
  const auto from = ReadListedEnd(line.substr(2, middle - 2));
  const auto to = ReadListedEnd(line.substr(middle + 5, end - middle - 5));
  if (!from || !to) return false;
  const auto own = AddEnd(*from, true, builder);
  const auto far = AddEnd(*to, false, builder);
  if (!own || !far) return false;
  ReadLink(line.substr(end + 3), *builder.PortOf(*own));
  builder.AddCable(*own, *far);
  return true;
}

bool IsListLine(std::string_view line) {
  return line.starts_with("{ ") && line.find(" NodeGUID:") != std::string_view::npos;
}

void ReadSubnetList(const std::string& file, std::string_view text, Builder& builder) {
  ForEachLine(text, [&](std::size_t number, std::string_view line) {
    if (!line.empty() && !line.starts_with('#') && !OnListLine(line, builder))
      builder.AddProblem({file, number,
                          Format("expected a cable such as {{ SW Ports:24 ... }} {{ CA Ports:01 "
                                 "... }} PHY=4x LOG=ACT SPD=50, saw {}",
                                 Quoted(line))});
  });
  builder.AddSource({file, std::string(kSubnetListFormat.name), {}});
}

}  // namespace

const FileFormat kSubnetListFormat = {.name = "opensm-subnet.lst",
                                      .made_by = "opensm -D 0x43",
                                      .recognises = IsListLine,
                                      .read = ReadSubnetList};

}  // namespace fabric::subnet
