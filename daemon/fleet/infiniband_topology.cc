#include "daemon/fleet/infiniband_topology.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "base/text.h"

namespace fabric::fleet {
namespace {

constexpr std::size_t kProblemsKept = 20;
constexpr std::uint32_t kPortsMax = 254;  // Port numbers of InfiniBand are 1 to 254.

// Scanner of one line, from left to right. A failed match does not advance it.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }

  bool Eat(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void Blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
  }
  std::optional<std::uint64_t> Hex() {
    Eat("0x");
    return Digits<std::uint64_t>("0123456789abcdefABCDEF", 16);
  }
  std::optional<std::uint32_t> Decimal() { return Digits<std::uint32_t>("0123456789", 10); }

 private:
  template <class Number>
  std::optional<Number> Digits(std::string_view letters, int base) {
    const std::size_t end = std::min(rest_.find_first_not_of(letters), rest_.size());
    const auto number = ParseNumber<Number>(rest_.substr(0, end), base);
    if (!number.ok()) return std::nullopt;
    rest_.remove_prefix(end);
    return *number;
  }

  std::string_view rest_;
};

// One end of a cable.
struct End {
  char type = '?';  // 'S' switch, 'H' adapter, 'R' router
  std::uint64_t guid = 0;
  std::uint32_t port = 0;
  std::uint64_t port_guid = 0;  // 0: not reported, as for switches

  auto Key() const { return std::tuple(type, guid, port); }
};

// "S-0002c9020046c588" in double quotes.
std::optional<End> ReadNode(Cursor& at) {
  if (!at.Eat("\"") || at.rest().size() < 2) return std::nullopt;
  End end;
  end.type = at.rest().front();
  at.Eat(at.rest().substr(0, 1));
  if (!at.Eat("-")) return std::nullopt;
  const auto guid = at.Hex();
  if (!guid || !at.Eat("\"")) return std::nullopt;
  end.guid = *guid;
  return end;
}

// "[12]", with -g also "[12][ext 3]".
std::optional<std::uint32_t> ReadPort(Cursor& at) {
  if (!at.Eat("[")) return std::nullopt;
  const auto port = at.Decimal();
  if (!port || *port < 1 || *port > kPortsMax || !at.Eat("]")) return std::nullopt;
  if (at.Eat("[ext ")) {
    if (!at.Decimal() || !at.Eat("]")) return std::nullopt;
  }
  return port;
}

// "(2c903000d7aac)"; 0 when absent.
std::optional<std::uint64_t> ReadPortGuid(Cursor& at) {
  if (!at.Eat("(")) return 0;
  const auto guid = at.Hex();
  if (!guid || !at.Eat(")")) return std::nullopt;
  return guid;
}

// The number after the first "lid ".
std::uint32_t LidIn(std::string_view text) {
  const std::size_t found = text.find("lid ");
  if (found == std::string_view::npos) return 0;
  Cursor at(text.substr(found + 4));
  return at.Decimal().value_or(0);
}

// Text between the first and the last double quote.
std::string_view Description(std::string_view comment) {
  const std::size_t from = comment.find('"');
  const std::size_t to = comment.rfind('"');
  if (from == std::string_view::npos || to == from) return {};
  return Trim(comment.substr(from + 1, to - from - 1));
}

// Short name of a switch. The description of a managed NVIDIA switch is
// "MF0;<host name>:<model>/U1", in a chassis ".../L01/U2".
std::string ShortName(std::string_view description) {
  if (!description.starts_with("MF0;")) return std::string(description);
  const std::string_view rest = description.substr(4);
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::string(rest);
  const std::string_view model = rest.substr(colon);
  const std::size_t slash = model.find('/');
  const std::string_view unit =
      slash == std::string_view::npos ? std::string_view() : model.substr(slash);
  return Format("{}{}", rest.substr(0, colon), unit == "/U1" ? std::string_view() : unit);
}

struct Cable {
  End from, to;
  std::uint32_t lid = 0;  // Of the adapter's end
};

// Parses "0c42:a103:0065:1f2e".
std::optional<std::uint64_t> GuidOf(std::string_view text) {
  std::string digits(text);
  std::erase(digits, ':');
  const auto guid = ParseNumber<std::uint64_t>(digits, 16);
  if (!guid.ok() || *guid == 0) return std::nullopt;
  return *guid;
}

template <class Map, class Key>
const Attachment* Lookup(const Map& map, const Key& key) {
  const auto at = map.find(key);
  return at == map.end() ? nullptr : &at->second;
}

}  // namespace

class TopologyReader {
 public:
  void Line(std::string_view text) {
    ++line_;
    const std::string_view line = Trim(text);
    if (line.empty()) return;
    constexpr std::string_view kGenerated = "# Topology file: generated on ";
    if (line.starts_with(kGenerated)) made_.generated_on_ = Trim(line.substr(kGenerated.size()));
    if (line.starts_with("[")) return Port(line);
    for (const std::string_view kind : {"Switch", "Ca", "Rt"})
      if (line.starts_with(kind) && line.size() > kind.size() &&
          (line[kind.size()] == ' ' || line[kind.size()] == '\t'))
        return Node(line, kind);
    // Start of a section, possibly of an unknown kind.
    if (line.starts_with("vendid=")) here_.reset();
    if (line.starts_with("CA ") || line.starts_with("SW ") || line.starts_with("RT "))
      Problem("expected topology output, saw a ports report: run ibnetdiscover without -p");
  }

  Result<InfinibandTopology> Done() {
    for (const auto& [guid, name] : names_) AddSwitch(guid, name);
    DropContradictions();
    for (const Cable& cable : cables_) Add(cable);
    MakeNamesUnique();
    for (InfinibandSwitch& each : made_.switches_)
      std::sort(each.links.begin(), each.links.end(),
                [](const SwitchLink& a, const SwitchLink& b) { return a.port < b.port; });
    if (cables_.empty())
      return Status(
          Code::kFailedPrecondition,
          Format("expected ibnetdiscover output, saw no cable of a switch in {} lines{}", line_,
                 made_.problems_.empty() ? std::string() : "; " + made_.problems_.front()));
    return std::move(made_);
  }

 private:
  void Problem(const std::string& what) { AddProblem(Format("line {}: {}", line_, what)); }
  void AddProblem(std::string what) {
    ++made_.problem_count_;
    if (made_.problems_.size() < kProblemsKept) made_.problems_.push_back(std::move(what));
  }

  // Switch  36 "S-0002c9020046c588"  # "leaf-1" base port 0 lid 2 lmc 0
  void Node(std::string_view line, std::string_view kind) {
    here_.reset();
    Cursor at(line.substr(kind.size()));
    at.Blanks();
    const bool counted = at.Decimal().has_value();
    at.Blanks();
    const auto node = counted ? ReadNode(at) : std::nullopt;
    if (!node) {
      return Problem(
          Format("expected a number of ports and a name such as \"S-0002c9020046c588\" "
                 "after {}, saw {}",
                 kind, Quoted(line)));
    }
    here_ = node;
    if (node->type == 'S') names_[node->guid] = ShortName(Description(at.rest()));
  }

  // [33]  "H-0002c903000d7aac"[1](2c903000d7aad)  # "ip-160 HCA-1" lid 5 4xQDR
  // [1](2c903000d7aad)  "S-0002c9020046c588"[33]  # lid 5 lmc 0 "leaf-1" lid 2 4xQDR
  void Port(std::string_view line) {
    Cursor at(line);
    Cable cable;
    const auto here_port = ReadPort(at);
    at.Blanks();
    const auto here_guid = here_port ? ReadPortGuid(at) : std::nullopt;
    at.Blanks();
    const auto there = here_guid ? ReadNode(at) : std::nullopt;
    const auto there_port = there ? ReadPort(at) : std::nullopt;
    at.Blanks();
    const auto there_guid = there_port ? ReadPortGuid(at) : std::nullopt;
    if (!there_guid)
      return Problem(
          Format("expected a cable such as [1] \"H-0002c903000d7aac\"[1], saw {}", Quoted(line)));
    if (!here_) return Problem("expected a Switch or Ca line before this cable");
    cable.from = *here_;
    cable.from.port = *here_port;
    cable.from.port_guid = *here_guid;
    cable.to = *there;
    cable.to.port = *there_port;
    cable.to.port_guid = *there_guid;
    const std::string_view comment = at.rest();
    // The LID follows the description on a switch's line and precedes it on an adapter's line.
    const std::size_t quote = comment.rfind('"');
    const bool of_switch = cable.from.type == 'S';
    cable.lid =
        LidIn(of_switch && quote != std::string_view::npos ? comment.substr(quote) : comment);
    // Store it from the switch's side. A cable without a switch is of no use.
    if (cable.from.type != 'S') std::swap(cable.from, cable.to);
    if (cable.from.type != 'S') return;
    if (cable.to.type == 'H' || cable.to.type == 'S') cables_.push_back(cable);
  }

  void AddSwitch(std::uint64_t guid, const std::string& name) {
    if (!index_.emplace(guid, static_cast<std::uint32_t>(made_.switches_.size())).second) return;
    made_.switches_.push_back({.guid = guid, .name = name, .links = {}});
  }

  // Each cable is listed at both ends. A port with two different cables is ambiguous (two
  // concatenated files, or a cable moved during discovery): drop both.
  void DropContradictions() {
    std::map<decltype(End().Key()), std::set<decltype(End().Key())>> partners;
    for (const Cable& cable : cables_) {
      partners[cable.from.Key()].insert(cable.to.Key());
      partners[cable.to.Key()].insert(cable.from.Key());
    }
    const auto twice = [&](const End& end) { return partners.at(end.Key()).size() > 1; };
    for (const auto& [end, others] : partners)
      if (others.size() > 1)
        AddProblem(Format("port {} of {}-{:016x}: expected one cable, saw {}; skipped",
                          std::get<2>(end), std::get<0>(end), std::get<1>(end), others.size()));
    std::erase_if(cables_,
                  [&](const Cable& cable) { return twice(cable.from) || twice(cable.to); });
  }

  void Add(const Cable& cable) {
    AddSwitch(cable.from.guid, {});
    const std::uint32_t from = index_.at(cable.from.guid);
    if (cable.to.type == 'S') {
      AddSwitch(cable.to.guid, {});
      AddLink(from, cable.from.port, index_.at(cable.to.guid), cable.to.port);
      AddLink(index_.at(cable.to.guid), cable.to.port, from, cable.from.port);
      return;
    }
    const Attachment attachment{.leaf = from, .port = cable.from.port, .lid = cable.lid};
    made_.by_node_.emplace(std::pair(cable.to.guid, cable.to.port), attachment);
    if (cable.to.port_guid != 0) made_.by_port_guid_.emplace(cable.to.port_guid, attachment);
  }

  void AddLink(std::uint32_t from, std::uint32_t port, std::uint32_t to, std::uint32_t to_port) {
    std::vector<SwitchLink>& links = made_.switches_[from].links;
    const bool known = std::any_of(links.begin(), links.end(),
                                   [&](const SwitchLink& link) { return link.port == port; });
    if (!known) links.push_back({.port = port, .other = to, .other_port = to_port});
  }

  // Makes switch names unique.
  void MakeNamesUnique() {
    for (InfinibandSwitch& each : made_.switches_)
      if (each.name.empty()) each.name = Format("S-{:016x}", each.guid);
    // Repeat: a name with a GUID may equal another switch's name.
    for (bool unique = false; !unique;) {
      std::map<std::string, int> count_by_name;
      for (const InfinibandSwitch& each : made_.switches_) ++count_by_name[each.name];
      unique = count_by_name.size() == made_.switches_.size();
      for (InfinibandSwitch& each : made_.switches_)
        if (count_by_name.at(each.name) > 1) each.name += Format(" {:016x}", each.guid);
    }
  }

  InfinibandTopology made_;
  std::size_t line_ = 0;
  std::optional<End> here_;  // The node whose ports follow
  std::map<std::uint64_t, std::string> names_;
  std::map<std::uint64_t, std::uint32_t> index_;
  std::vector<Cable> cables_;
};

Result<InfinibandTopology> InfinibandTopology::Parse(std::string_view text) {
  if (text.size() > kTextBytesMax)
    return Status(Code::kResourceExhausted,
                  Format("expected at most {} bytes, saw {}", kTextBytesMax, text.size()));
  TopologyReader reader;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.Line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.Done();
}

const Attachment* InfinibandTopology::Find(const v1::RdmaDevice& device,
                                           const v1::Port& port) const {
  if (empty()) return nullptr;
  if (const auto guid = GuidOf(port.port_guid()))
    if (const Attachment* const attachment = Lookup(by_port_guid_, *guid)) return attachment;
  if (const auto guid = GuidOf(device.node_guid()))
    return Lookup(by_node_, std::pair(*guid, port.number()));
  return nullptr;
}

}  // namespace fabric::fleet
