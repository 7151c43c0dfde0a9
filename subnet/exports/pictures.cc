// Pictures of a subnet: switches, and one line for all cables between two of them.
#include <algorithm>
#include <map>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/checks/levels.h"
#include "subnet/exports/exports.h"
#include "subnet/exports/hosts.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

struct SwitchBox {
  std::string name;
  std::string label;  // "leaf-1 (8 hosts)"
  std::uint32_t level = 0;
};

struct SwitchLine {
  std::uint32_t from = 0;  // Not above `to`
  std::uint32_t to = 0;
  std::string label;  // "2 4xHDR"
};

struct Picture {
  std::vector<SwitchBox> boxes;
  std::vector<SwitchLine> lines;
};

Picture PictureOf(const Subnet& subnet) {
  const Graph graph(subnet);
  const Levels levels = LevelsOf(graph);
  const auto hosts = HostsByLeaf(graph);
  Picture picture;
  for (std::uint32_t index = 0; index < graph.size(); ++index) {
    const std::string name = NameOf(subnet.node(graph.NodeOf(index)));
    const auto at = hosts.find(index);
    const bool known = levels.level[index] != Levels::kUnknown;
    picture.boxes.push_back(
        {name,
         at == hosts.end() ? name : Format("{} ({})", name, Plural(at->second.size(), "host")),
         known ? levels.level[index] : 0U});
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::string, std::size_t>> lines;
  for (const Cable& cable : subnet.Cables()) {
    std::uint32_t from = graph.IndexOf(cable.from.node);
    std::uint32_t to = graph.IndexOf(cable.to.node);
    if (from == kNoSwitch || to == kNoSwitch) continue;
    if (levels.IsUp(to, from)) std::swap(from, to);
    ++lines[{from, to}][ToString(subnet.port(cable.from).rate)];
  }
  for (const auto& [ends, rates] : lines) {
    std::vector<std::string> labels;
    for (const auto& [rate, count] : rates) labels.push_back(Format("{} {}", count, rate));
    picture.lines.push_back({ends.first, ends.second, Join(labels, ", ")});
  }
  return picture;
}

std::string DotQuoted(std::string name) {
  std::ranges::replace(name, '"', '\'');
  std::ranges::replace(name, '\\', '/');
  return Format("\"{}\"", name);
}

// Names come from other machines.
std::string SvgText(std::string_view text) {
  std::string escaped;
  for (const char c : text) switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  return escaped;
}

// Layout in pixels.
constexpr std::size_t kMargin = 20;
constexpr std::size_t kBoxWidth = 150;
constexpr std::size_t kBoxHeight = 20;
constexpr std::size_t kColumn = 170;
constexpr std::size_t kRowHeight = 140;

struct Spot {
  std::size_t x = 0;
  std::size_t y = 0;
};

// One row for each level, the highest on top, in natural order of the names.
std::vector<Spot> SpotsOf(const Picture& picture, std::size_t& columns, std::size_t& rows) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> levels;
  for (std::uint32_t index = 0; index < picture.boxes.size(); ++index)
    levels[picture.boxes[index].level].push_back(index);
  rows = levels.size();
  columns = 0;
  for (auto& [level, members] : levels) {
    std::ranges::sort(members, NaturalLess,
                      [&](std::uint32_t index) { return picture.boxes[index].name; });
    columns = std::max(columns, members.size());
  }
  std::vector<Spot> spots(picture.boxes.size());
  std::size_t row = rows;
  for (const auto& [level, members] : levels) {
    --row;
    const std::size_t width = columns * kColumn / members.size();
    for (std::size_t at = 0; at < members.size(); ++at)
      spots[members[at]] = {kMargin + at * width + (width - kBoxWidth) / 2,
                            kMargin + row * kRowHeight};
  }
  return spots;
}

}  // namespace

std::string Dot(const Subnet& subnet) {
  const Picture picture = PictureOf(subnet);
  std::string text = "graph subnet {\n  rankdir=BT;\n  node [shape=box];\n";
  for (std::size_t index = 0; index < picture.boxes.size(); ++index)
    text += Format("  n{} [label={}];\n", index, DotQuoted(picture.boxes[index].label));
  for (const SwitchLine& line : picture.lines)
    text += Format("  n{} -- n{} [label={}];\n", line.from, line.to, DotQuoted(line.label));
  return text + "}\n";
}

std::string Svg(const Subnet& subnet) {
  const Picture picture = PictureOf(subnet);
  std::size_t columns = 0;
  std::size_t rows = 0;
  const std::vector<Spot> spots = SpotsOf(picture, columns, rows);
  std::string text = Format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<title>Switches of the subnet</title>\n",
      2 * kMargin + columns * kColumn, 2 * kMargin + rows * kRowHeight);
  for (const SwitchLine& line : picture.lines) {
    const Spot& from = spots[line.from];
    const Spot& to = spots[line.to];
    text += Format(
        "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"#446\"><title>{} - {}: "
        "{}</title></line>\n",
        from.x + kBoxWidth / 2, from.y, to.x + kBoxWidth / 2, to.y + kBoxHeight,
        SvgText(picture.boxes[line.from].name), SvgText(picture.boxes[line.to].name),
        SvgText(line.label));
  }
  for (std::size_t index = 0; index < picture.boxes.size(); ++index)
    text += Format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#eef\" stroke=\"#446\"/>"
        "<text x=\"{}\" y=\"{}\">{}</text>\n",
        spots[index].x, spots[index].y, kBoxWidth, kBoxHeight, spots[index].x + 6,
        spots[index].y + 14, SvgText(picture.boxes[index].label));
  return text + "</svg>\n";
}

}  // namespace fabric::subnet
