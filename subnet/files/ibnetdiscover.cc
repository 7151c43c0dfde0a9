// Reader of ibnetdiscover output, also from terminal logs: prompts, messages of standard error and
// lost tabs. Format: rdma-core, infiniband-diags/ibnetdiscover.c.
#include "subnet/files/formats.h"
#include "subnet/files/scanner.h"

namespace fabric::subnet {
namespace {

constexpr std::string_view kGenerated = "# Topology file: generated on ";

struct Kind {
  std::string_view word;
  NodeType type;
};
constexpr Kind kKinds[] = {
    {"Switch", NodeType::kSwitch}, {"Ca", NodeType::kAdapter}, {"Rt", NodeType::kRouter}};

// The kind of node that a line "Switch 36 ..." begins, also without the tab: "Switch36".
const Kind* KindOf(std::string_view line) {
  for (const Kind& kind : kKinds) {
    if (!line.starts_with(kind.word) || line.size() == kind.word.size()) continue;
    const char next = line[kind.word.size()];
    if (next == ' ' || next == '\t' || (next >= '0' && next <= '9')) return &kind;
  }
  return nullptr;
}

NodeType TypeOf(char letter) {
  if (letter == 'S') return NodeType::kSwitch;
  if (letter == 'H') return NodeType::kAdapter;
  return letter == 'R' ? NodeType::kRouter : NodeType::kUnknown;
}

struct NodeName {
  NodeType type = NodeType::kUnknown;
  std::uint64_t guid = 0;
};

// "S-0002c9020046c588" in double quotes.
std::optional<NodeName> ReadName(Scanner& at) {
  if (!at.Eat("\"") || at.rest().size() < 2) return std::nullopt;
  const NodeType type = TypeOf(at.rest().front());
  at.Eat(at.rest().substr(0, 1));
  if (type == NodeType::kUnknown || !at.Eat("-")) return std::nullopt;
  const auto guid = at.Hex();
  if (!guid || !at.Eat("\"")) return std::nullopt;
  return NodeName{type, *guid};
}

// "[12]", with -g also "[12][ext 3]".
std::optional<std::uint32_t> ReadPort(Scanner& at) {
  if (!at.Eat("[")) return std::nullopt;
  const auto port = at.Decimal();
  if (!port || *port < 1 || *port > kPortsMax || !at.Eat("]")) return std::nullopt;
  if (at.Eat("[ext ") && (!at.Decimal() || !at.Eat("]"))) return std::nullopt;
  return port;
}

// "(2c903000d7aac)"; 0 when absent.
std::optional<std::uint64_t> ReadPortGuid(Scanner& at) {
  if (!at.Eat("(")) return 0;
  const auto guid = at.Hex();
  if (!guid || !at.Eat(")")) return std::nullopt;
  return guid;
}

// Parts of the comment of a line.
struct Comment {
  std::string_view before;       // The first quote
  std::string_view description;  // Between the first and the last quote
  std::string_view after;        // The last quote
};

Comment ReadComment(std::string_view text) {
  const std::size_t from = text.find('"');
  const std::size_t to = text.rfind('"');
  if (from == std::string_view::npos || to == from) return {text, {}, text};
  return {text.substr(0, from), Trim(text.substr(from + 1, to - from - 1)), text.substr(to + 1)};
}

// The number behind `word`. None if digits follow a blank in it: "lid 10 2" of a damaged line.
std::optional<std::uint32_t> NumberAfter(std::string_view text, std::string_view word) {
  auto at = Scanner::After(text, word);
  const auto number = at ? at->Decimal() : std::nullopt;
  if (!number || !at->AtWordEnd()) return std::nullopt;
  at->Blanks();
  const std::string_view next = at->rest().substr(0, at->rest().find_first_of(" \t"));
  const bool digits = !next.empty() && next.find_first_not_of("0123456789") == next.npos;
  return digits ? std::nullopt : number;
}

// Whether a line ends in another cable, because the end of a line was lost: "..."[1].
bool HasAnotherCable(std::string_view text) {
  for (std::size_t at = text.find('"'); at != text.npos; at = text.find('"', at + 1)) {
    Scanner name(text.substr(at));
    if (ReadName(name) && ReadPort(name)) return true;
  }
  return false;
}

struct CableLine {
  std::uint32_t port = 0;
  std::uint64_t port_guid = 0;
  NodeName peer;
  std::uint32_t peer_port = 0;
  std::uint64_t peer_guid = 0;
  Comment comment;
};

// [33]  "H-0002c903000d7aac"[1](2c903000d7aad)  # "ip-160 HCA-1" lid 5 4xQDR
// [1](2c903000d7aad)  "S-0002c9020046c588"[33]  # lid 5 lmc 0 "leaf-1" lid 2 4xQDR
std::optional<CableLine> ReadCable(std::string_view text) {
  Scanner at(text);
  const auto port = ReadPort(at);
  at.Blanks();
  const auto port_guid = port ? ReadPortGuid(at) : std::nullopt;
  at.Blanks();
  const auto peer = port_guid ? ReadName(at) : std::nullopt;
  const auto peer_port = peer ? ReadPort(at) : std::nullopt;
  at.Blanks();
  const auto peer_guid = peer_port ? ReadPortGuid(at) : std::nullopt;
  if (!peer_guid) return std::nullopt;
  at.Blanks();
  if (HasAnotherCable(at.rest())) return std::nullopt;
  return CableLine{*port, *port_guid, *peer, *peer_port, *peer_guid, ReadComment(at.rest())};
}

class IbnetdiscoverReader {
 public:
  IbnetdiscoverReader(const std::string& file, Builder& builder) : file_(file), builder_(builder) {}

  void Line(std::size_t number, std::string_view line) {
    line_ = number;
    if (line.empty()) return;
    if (line.starts_with(kGenerated)) made_on_ = Trim(line.substr(kGenerated.size()));
    if (line.starts_with('#')) return;
    if (line.starts_with('[')) return OnCable(line);
    if (const Kind* const kind = KindOf(line)) return OnNode(line, *kind);
    if (!OnAttribute(line)) Bad("a line of ibnetdiscover output", line);
  }

  void Done() {
    MarkHere();
    builder_.AddSource({file_, std::string(kIbnetdiscoverFormat.name), made_on_});
  }

 private:
  void MarkHere() {
    if (here_ != kNoNode) builder_.node(here_).can_lack_cables = true;
  }
  void Bad(std::string_view expected, std::string_view line) {
    MarkHere();
    builder_.AddProblem({file_, line_, Format("expected {}, saw {}", expected, Quoted(line))});
  }

  // vendid=0x2c9, sysimgguid=0x...: above the node that they belong to. True if it is one.
  bool OnAttribute(std::string_view line) {
    for (const std::string_view ignored :
         {"vendid=", "switchguid=", "caguid=", "rtguid=", "Chassis", "Non-Chassis Nodes"})
      if (line.starts_with(ignored)) {
        if (ignored == "vendid=") Forget();
        return true;
      }
    Scanner at(line);
    if (at.Eat("devid="))
      device_id_ = static_cast<std::uint32_t>(at.Hex().value_or(0));
    else if (at.Eat("sysimgguid="))
      system_guid_ = at.Hex().value_or(0);
    else
      return false;
    return true;
  }
  void Forget() {
    here_ = kNoNode;
    skipped_ = false;
    device_id_ = 0;
    system_guid_ = 0;
  }

  // Switch  36 "S-0002c9020046c588"  # "leaf-1" base port 0 lid 2 lmc 0
  void OnNode(std::string_view line, const Kind& kind) {
    here_ = kNoNode;
    skipped_ = true;
    Scanner at(line.substr(kind.word.size()));
    at.Blanks();
    const auto count = at.Decimal();
    at.Blanks();
    const auto name = count ? ReadName(at) : std::nullopt;
    if (!name || HasAnotherCable(at.rest()))
      return Bad(Format("a number of ports and a name such as \"S-0002c9020046c588\" after {}; "
                        "skipped its cables",
                        kind.word),
                 line);
    here_ = builder_.NodeOf(kind.type, name->guid);
    if (here_ == kNoNode) return Bad("at most 65536 nodes", line);
    skipped_ = false;
    Node& node = builder_.node(here_);
    node.listed = true;
    node.port_count = *count;
    if (device_id_ != 0) node.device_id = device_id_;
    if (system_guid_ != 0) node.system_guid = system_guid_;
    const Comment comment = ReadComment(at.rest());
    if (!comment.description.empty()) node.description = comment.description;
    if (kind.type == NodeType::kSwitch)
      SetLid({here_, 0}, NumberAfter(comment.after, "lid "), NumberAfter(comment.after, "lmc "));
  }

  void OnCable(std::string_view text) {
    const auto line = ReadCable(text);
    if (!line) return Bad("a cable such as [1] \"H-0002c903000d7aac\"[1]", text);
    if (here_ == kNoNode) {
      if (!skipped_) Bad("a Switch, Ca or Rt line before this cable", text);
      return;
    }
    const std::uint32_t peer = builder_.NodeOf(line->peer.type, line->peer.guid);
    const End from{here_, line->port};
    const End to{peer, line->peer_port};
    if (peer == kNoNode || builder_.PortOf(to) == nullptr || builder_.PortOf(from) == nullptr)
      return Bad("at most 65536 nodes and 1000000 ports", text);
    if (builder_.node(peer).description.empty())
      builder_.node(peer).description = line->comment.description;
    if (line->port_guid != 0) builder_.PortOf(from)->guid = line->port_guid;
    if (line->peer_guid != 0) builder_.PortOf(to)->guid = line->peer_guid;
    const bool of_switch = builder_.node(here_).type == NodeType::kSwitch;
    if (!of_switch)
      SetLid(from, NumberAfter(line->comment.before, "lid "),
             NumberAfter(line->comment.before, "lmc "));
    const End lid_of = line->peer.type == NodeType::kSwitch ? End{peer, 0} : to;
    if (const Port* const port = builder_.PortOf(lid_of); port != nullptr && !port->lid)
      SetLid(lid_of, NumberAfter(line->comment.after, "lid "), std::nullopt);
    for (const std::string_view word : Words(line->comment.after))
      if (const auto rate = ParseRate(word)) builder_.PortOf(from)->rate = *rate;
    builder_.PortOf(from)->state = LinkState::kActive;
    builder_.AddCable(from, to);
  }

  void SetLid(End end, std::optional<std::uint32_t> lid, std::optional<std::uint32_t> lmc) {
    Port* const port = builder_.PortOf(end);
    if (port == nullptr || !lid || *lid > 0xffff) return;
    port->lid = static_cast<std::uint16_t>(*lid);
    if (lmc && *lmc <= 7) port->lmc = static_cast<std::uint8_t>(*lmc);
  }

  const std::string& file_;
  Builder& builder_;
  std::string made_on_;
  std::size_t line_ = 0;
  std::uint32_t here_ = kNoNode;  // The node whose cables follow
  bool skipped_ = false;          // The line of this node was bad.
  std::uint32_t device_id_ = 0;
  std::uint64_t system_guid_ = 0;
};

bool IsIbnetdiscoverLine(std::string_view line) {
  return line.starts_with(kGenerated) || line.starts_with("vendid=0x") ||
         (KindOf(line) != nullptr && line.find("\"S-") != std::string_view::npos) ||
         ReadCable(line).has_value();
}

void ReadIbnetdiscover(const std::string& file, std::string_view text, Builder& builder) {
  IbnetdiscoverReader reader(file, builder);
  ForEachLine(text, [&](std::size_t number, std::string_view line) { reader.Line(number, line); });
  reader.Done();
}

}  // namespace

const FileFormat kIbnetdiscoverFormat = {.name = "ibnetdiscover",
                                         .made_by = "ibnetdiscover",
                                         .recognises = IsIbnetdiscoverLine,
                                         .read = ReadIbnetdiscover,
                                         .lists_cables = true};

}  // namespace fabric::subnet
