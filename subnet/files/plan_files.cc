// Readers of cable plans: NDT files (CSV) and topo files of ibdiagnet.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <set>

#include "base/text.h"
#include "subnet/files/formats.h"
#include "subnet/files/scanner.h"
#include "subnet/plan.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

// Fields of a line of CSV, trimmed; "a, ""b""" in quotes is one field.
std::vector<std::string> CsvFields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const bool quote = line[at] == '"';
    if (quote && quoted && at + 1 < line.size() && line[at + 1] == '"')
      fields.back() += line[++at];
    else if (quote)
      quoted = !quoted;
    else if (line[at] == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += line[at];
  }
  for (std::string& field : fields) field = std::string(Trim(field));
  return fields;
}

struct NdtColumns {
  std::size_t start_device = 0;
  std::size_t start_port = 0;
  std::size_t end_device = 0;
  std::size_t end_port = 0;

  std::size_t last() const { return std::max({start_device, start_port, end_device, end_port}); }
};

// "#StartDevice", "#Fields:StartDevice" and "StartDevice" name one column.
bool IsNdtColumn(std::string_view field, std::string_view name) {
  if (field.starts_with('#')) field.remove_prefix(1);
  constexpr std::string_view kFields = "Fields:";
  if (field.starts_with(kFields)) field.remove_prefix(kFields.size());
  return field == name;
}

// The columns of a header line, in any order.
std::optional<NdtColumns> ReadNdtHeader(const std::vector<std::string>& fields) {
  const auto index = [&](std::string_view name) {
    return static_cast<std::size_t>(
        std::ranges::find_if(fields, [&](const auto& each) { return IsNdtColumn(each, name); }) -
        fields.begin());
  };
  const NdtColumns columns{.start_device = index("StartDevice"),
                           .start_port = index("StartPort"),
                           .end_device = index("EndDevice"),
                           .end_port = index("EndPort")};
  if (columns.last() >= fields.size()) return std::nullopt;
  return columns;
}

bool IsNdtHeader(std::string_view line) {
  return line.find("StartDevice,") != std::string_view::npos && ReadNdtHeader(CsvFields(line));
}

std::optional<std::uint32_t> PortNumber(std::string_view text) {
  const auto port = ParseNumber<std::uint32_t>(text);
  if (!port.ok() || *port < 1 || *port > kPortsMax) return std::nullopt;
  return *port;
}

// "1/31/1": chip, cage and port of a Quantum-2 switch, or a split port of a Quantum switch. Both
// number two ports in each cage. Only switches of one chip: those of a chassis have other names.
std::optional<std::uint32_t> PortOfLabel(std::string_view text) {
  constexpr std::uint32_t kOfACage = 2;
  Scanner at(text);
  if (!at.Eat("1/")) return std::nullopt;
  const auto cage = at.Decimal();
  if (!cage || *cage < 1 || *cage > kPortsMax / kOfACage || !at.Eat("/")) return std::nullopt;
  const auto port = PortNumber(at.rest());
  if (!port || *port > kOfACage) return std::nullopt;
  return PortNumber(std::to_string((*cage - 1) * kOfACage + *port));
}

// "Port 21", "21", "Port 1/31/1", "Blade 16_Port 2/20" (leaf 16, chip 2, port 20 of a chassis), or
// "HOST DEVICE". The device is a name or a whole description.
std::optional<PlannedEnd> ReadNdtEnd(const std::string& device, std::string_view port) {
  if (device.empty()) return std::nullopt;
  Scanner at(port);
  at.Eat("Port ");
  if (const auto number = PortNumber(at.rest())) return PlannedEnd{ShortName(device), *number};
  if (const auto number = PortOfLabel(at.rest())) return PlannedEnd{ShortName(device), *number};
  if (at.Eat("Blade ")) {
    const auto blade = at.Decimal();
    const bool named = blade && at.Eat("_Port ");
    const auto chip = named ? at.Decimal() : std::nullopt;
    if (!chip || !at.Eat("/")) return std::nullopt;
    const auto number = PortNumber(at.rest());
    if (!number) return std::nullopt;
    return PlannedEnd{Format("{}/L{:02}/U{}", device, *blade, *chip), *number};
  }
  if (!port.starts_with(device) || port.size() <= device.size() + 1 || port[device.size()] != ' ')
    return std::nullopt;
  return PlannedEnd{std::string(port), 1};
}

// Rows of an NDT file.
class NdtReader {
 public:
  explicit NdtReader(Plan& plan) : plan_(plan) {}

  void Line(std::size_t number, std::string_view line) {
    if (line.empty()) return;
    const std::vector<std::string> fields = CsvFields(line);
    if (const auto columns = ReadNdtHeader(fields)) {
      columns_ = columns;
      width_ = static_cast<std::ptrdiff_t>(fields.size());
      return;
    }
    if (line.starts_with('#')) return;
    const auto bad = [&](std::string_view expected) {
      plan_.problems.Add(
          {plan_.file, number, Format("expected {}, saw {}", expected, Quoted(line))});
    };
    if (!columns_ || IsUnconnected(fields)) {
      if (!columns_)
        bad("the columns StartDevice, StartPort, EndDevice and EndPort above this row");
      return;
    }
    const auto is_value = [](const std::string& field) { return !field.empty(); };
    if (std::ssize(fields) > width_ && std::any_of(fields.begin() + width_, fields.end(), is_value))
      return bad("one row on a line");
    if (columns_->last() >= fields.size())
      return bad("values of StartDevice, StartPort, EndDevice and EndPort");
    auto from = ReadNdtEnd(fields[columns_->start_device], fields[columns_->start_port]);
    auto to = ReadNdtEnd(fields[columns_->end_device], fields[columns_->end_port]);
    if (!from || !to)
      return bad("ports such as 'Port 21', 'Port 1/31/1', 'Blade 16_Port 2/20' or 'HOST DEVICE'");
    if (ToString(*from) == ToString(*to)) return bad("two different ends");
    // A file can list both directions of a cable.
    if (!seen_.insert(KeyOf(*from, *to)).second || seen_.contains(KeyOf(*to, *from))) return;
    plan_.cables.push_back({*std::move(from), *std::move(to), number});
  }

 private:
  // A port that has no cable, or whose cable leaves the subnet. The row of such a port has other
  // columns than the header.
  bool IsUnconnected(const std::vector<std::string>& fields) const {
    if (std::ranges::find(fields, "Disabled") != fields.end()) return true;
    return columns_->last() < fields.size() && fields[columns_->end_device].empty() &&
           fields[columns_->end_port].empty();
  }

  static std::string KeyOf(const PlannedEnd& from, const PlannedEnd& to) {
    return Format("{} - {}", ToString(from), ToString(to));
  }

  Plan& plan_;
  std::optional<NdtColumns> columns_;
  std::ptrdiff_t width_ = 0;  // Of the header
  std::set<std::string> seen_;
};

// A part of a chassis: "L01/U1".
bool IsChassisPart(std::string_view word) {
  Scanner at(word);
  if (!at.Eat("L") && !at.Eat("S")) return false;
  return at.Decimal() && at.Eat("/U") && at.Decimal() && at.rest().empty();
}

// "core/L01/U1" of "core L01/U1"; any other name unchanged.
std::string TopoName(std::string_view name) {
  const std::size_t blank = name.rfind(' ');
  if (blank == std::string_view::npos || !IsChassisPart(name.substr(blank + 1)))
    return std::string(name);
  return Format("{}/{}", Trim(name.substr(0, blank)), name.substr(blank + 1));
}

// "leaf-1 P5", "gpu-7 mlx5_2/P1": the name and the port of a line of a topo file.
std::optional<PlannedEnd> ReadTopoEnd(std::string_view text) {
  const std::size_t last = text.find_last_of("P");
  if (last == std::string_view::npos || last == 0) return std::nullopt;
  const auto number = PortNumber(text.substr(last + 1));
  const char before = text[last - 1];
  if (!number || (before != ' ' && before != '/')) return std::nullopt;
  const std::string_view name = Trim(text.substr(0, last - 1));
  if (name.empty()) return std::nullopt;
  return PlannedEnd{TopoName(name), *number};
}

// P2 -4x-50G-> HCA_mlx5_3 host mlx5_0/P1
// L01/U1/P2 -4x-50G-> MCS8500 core L02/U1/P20
std::optional<PlannedCable> ReadTopoCable(std::string_view switch_name, std::string_view line) {
  const std::size_t part = line.substr(0, line.find(' ')).rfind("/P");
  const bool of_chassis = part != std::string_view::npos && IsChassisPart(line.substr(0, part));
  Scanner at(of_chassis ? line.substr(part + 1) : line);
  const auto port = at.Eat("P") ? at.Decimal() : std::nullopt;
  at.Blanks();
  const std::size_t arrow = at.rest().find("-> ");
  if (!port || *port < 1 || *port > kPortsMax || !at.rest().starts_with('-') ||
      arrow == std::string_view::npos)
    return std::nullopt;
  const std::string_view far = Trim(at.rest().substr(arrow + 3));
  const std::size_t model = far.find(' ');  // The first word is the model.
  // Another arrow: the end of a line was lost.
  if (model == std::string_view::npos || far.find("->") != far.npos) return std::nullopt;
  auto to = ReadTopoEnd(Trim(far.substr(model)));
  if (!to) return std::nullopt;
  std::string from(switch_name);
  if (of_chassis) from += Format("/{}", line.substr(0, part));
  return PlannedCable{.from = {std::move(from), *port}, .to = *std::move(to)};
}

bool IsTopoCable(std::string_view line) {
  return ReadTopoCable("any", line).has_value();
}

// "P2", as at the end of a cable whose line was broken.
bool IsTopoPort(std::string_view word) {
  return word.starts_with('P') && PortNumber(word.substr(1)).has_value();
}

// "MODEL NAME [CFG: ...]"; not a prompt or a line of a log.
bool IsTopoSwitch(std::string_view line, const std::vector<std::string_view>& words) {
  const auto is_name = [](std::string_view word) {
    return std::isalnum(static_cast<unsigned char>(word.front())) != 0 && !word.ends_with(':');
  };
  if (line.find("->") != std::string_view::npos || words.size() < 2 || IsTopoPort(words[1]))
    return false;
  return (words.size() == 2 || words[2] == "CFG:") && is_name(words[0]) && is_name(words[1]);
}

}  // namespace

void ReadNdt(std::string_view text, Plan& plan) {
  NdtReader reader(plan);
  ForEachLine(text, [&](std::size_t number, std::string_view line) { reader.Line(number, line); });
}

void ReadTopo(std::string_view text, Plan& plan) {
  std::string here;
  ForEachLine(text, [&](std::size_t number, std::string_view line) {
    if (line.empty() || line.starts_with('#')) return;
    const std::vector<std::string_view> words = Words(line);
    if (auto cable = ReadTopoCable(here, line)) {
      if (here.empty()) {
        plan.problems.Add({plan.file, number,
                           Format("expected a line 'MODEL NAME' of the switch above this cable, "
                                  "saw {}",
                                  Quoted(line))});
        return;
      }
      cable->line = number;
      plan.cables.push_back(*std::move(cable));
    } else if (IsTopoSwitch(line, words)) {
      here = std::string(words[1]);  // MODEL NAME [CFG: ...]
    } else {
      if (line.find("->") == std::string_view::npos) here.clear();
      plan.problems.Add({plan.file, number,
                         Format("expected 'MODEL NAME' or a cable such as 'P2 -4x-50G-> HCA_mlx5 "
                                "host mlx5_0/P1', saw {}",
                                Quoted(line))});
    }
  });
}

const FileFormat kNdtFormat = {
    .name = "NDT plan", .made_by = "", .recognises = IsNdtHeader, .read = nullptr};

const FileFormat kTopoFormat = {
    .name = "topo file", .made_by = "", .recognises = IsTopoCable, .read = nullptr};

}  // namespace fabric::subnet
