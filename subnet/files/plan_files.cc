// Readers of cable plans: NDT files (CSV) and topo files of ibdiagnet.
#include <algorithm>

#include "base/text.h"
#include "subnet/files/formats.h"
#include "subnet/files/scanner.h"
#include "subnet/plan.h"

namespace fabric::subnet {
namespace {

constexpr std::string_view kNdtHead = "#StartDevice";

std::optional<std::uint32_t> PortNumber(std::string_view text) {
  const auto port = ParseNumber<std::uint32_t>(text);
  if (!port.ok() || *port < 1 || *port > kPortsMax) return std::nullopt;
  return *port;
}

// "Port 21", "Blade 16_Port 2/20" (leaf 16, chip 2, port 20 of a chassis), or "HOST DEVICE".
std::optional<PlannedEnd> ReadNdtEnd(std::string_view device, std::string_view port) {
  if (device.empty()) return std::nullopt;
  Scanner at(port);
  if (at.Eat("Port ")) {
    const auto number = PortNumber(at.rest());
    if (!number) return std::nullopt;
    return PlannedEnd{std::string(device), *number};
  }
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

// "leaf-1 P5", "gpu-7 mlx5_2/P1": the name and the port of a line of a topo file.
std::optional<PlannedEnd> ReadTopoEnd(std::string_view text) {
  const std::size_t last = text.find_last_of("P");
  if (last == std::string_view::npos || last == 0) return std::nullopt;
  const auto number = PortNumber(text.substr(last + 1));
  const char before = text[last - 1];
  if (!number || (before != ' ' && before != '/')) return std::nullopt;
  const std::string_view name = Trim(text.substr(0, last - 1));
  if (name.empty()) return std::nullopt;
  return PlannedEnd{std::string(name), *number};
}

// P2 -4x-50G-> HCA_mlx5_3 host mlx5_0/P1
std::optional<PlannedCable> ReadTopoCable(std::string_view switch_name, std::string_view line) {
  Scanner at(line);
  const auto port = at.Eat("P") ? at.Decimal() : std::nullopt;
  at.Blanks();
  const std::size_t arrow = at.rest().find("-> ");
  if (!port || *port < 1 || *port > kPortsMax || !at.rest().starts_with('-') ||
      arrow == std::string_view::npos)
    return std::nullopt;
  const std::string_view far = Trim(at.rest().substr(arrow + 3));
  const std::size_t model = far.find(' ');  // The first word is the model.
  if (model == std::string_view::npos) return std::nullopt;
  auto to = ReadTopoEnd(Trim(far.substr(model)));
  if (!to) return std::nullopt;
  return PlannedCable{.from = {std::string(switch_name), *port}, .to = *std::move(to)};
}

bool IsTopoCable(std::string_view line) {
  return ReadTopoCable("any", line).has_value();
}

}  // namespace

void ReadNdt(std::string_view text, Plan& plan) {
  ForEachLine(text, [&](std::size_t number, std::string_view line) {
    if (line.empty() || line.starts_with('#')) return;
    const auto bad = [&](std::string_view expected) {
      plan.problems.Add({plan.file, number, Format("expected {}, saw {}", expected, Quoted(line))});
    };
    const std::vector<std::string_view> columns = Split(line, ',');
    if (columns.size() != 5)
      return bad("five columns (StartDevice,StartPort,EndDevice,EndPort,LinkType)");
    auto from = ReadNdtEnd(Trim(columns[0]), Trim(columns[1]));
    auto to = ReadNdtEnd(Trim(columns[2]), Trim(columns[3]));
    if (!from || !to) return bad("ports such as 'Port 21', 'Blade 16_Port 2/20' or 'HOST DEVICE'");
    plan.cables.push_back({*std::move(from), *std::move(to), number});
  });
}

void ReadTopo(std::string_view text, Plan& plan) {
  std::string here;
  ForEachLine(text, [&](std::size_t number, std::string_view line) {
    if (line.empty() || line.starts_with('#')) return;
    const std::vector<std::string_view> words = Words(line);
    if (auto cable = ReadTopoCable(here, line)) {
      if (here.empty()) {
        plan.problems.Add({plan.file, number,
                           Format("expected a switch above this cable, saw {}", Quoted(line))});
        return;
      }
      cable->line = number;
      plan.cables.push_back(*std::move(cable));
    } else if (words.size() == 2 && line.find("->") == std::string_view::npos) {
      here = std::string(words[1]);
    } else {
      plan.problems.Add({plan.file, number,
                         Format("expected 'MODEL NAME' or a cable such as 'P2 -4x-50G-> HCA_mlx5 "
                                "host mlx5_0/P1', saw {}",
                                Quoted(line))});
    }
  });
}

const FileFormat kNdtFormat = {
    .name = "NDT plan",
    .made_by = "",
    .recognises = [](std::string_view line) { return line.starts_with(kNdtHead); },
    .read = nullptr};

const FileFormat kTopoFormat = {
    .name = "topo file", .made_by = "", .recognises = IsTopoCable, .read = nullptr};

}  // namespace fabric::subnet
