#include "ctl/tables/topology_graph.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/lists.h"
#include "base/text.h"

namespace fabric::ctl {
namespace {

constexpr char kUnknownLeaf[] = "unknown";

struct Link {
  std::string leaf;
  std::string node;
  std::string port;  // "mlx5_0/1"
  std::string rail;  // "" when it has none
  bool active = false;
};

std::vector<Link> LinksOf(const v1::ListDevicesResponse& devices) {
  std::vector<Link> links;
  for (const v1::DeviceSummary& one : devices.devices())
    links.push_back({.leaf = one.leaf().empty() ? kUnknownLeaf : one.leaf(),
                     .node = one.node(),
                     .port = Format("{}/{}", one.device(), one.port()),
                     .rail = one.has_rail() ? Format("{}", one.rail()) : std::string(),
                     .active = one.state() == v1::PORT_STATE_ACTIVE});
  return links;
}

// Names in natural order, each with its position.
std::map<std::string, std::size_t> Positions(const std::vector<Link>& links,
                                             std::string Link::*member) {
  std::vector<std::string> names;
  for (const Link& link : links) names.push_back(link.*member);
  std::ranges::sort(names, NaturalLess);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::map<std::string, std::size_t> positions;
  for (const std::string& name : names) positions.emplace(name, positions.size());
  return positions;
}

// A quoted string of DOT: names come from other machines.
std::string DotText(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return quoted + '"';
}

std::string XmlText(std::string_view text) {
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

std::string LabelOf(const Link& link) {
  return Format("{}{}{}", link.port, link.rail.empty() ? "" : ", rail ", link.rail);
}

// Layout of the picture, in pixels.
constexpr std::size_t kRow = 24;
constexpr std::size_t kMargin = 20;
constexpr std::size_t kBox = 180;
constexpr std::size_t kNodesAt = 520;

std::string Boxes(const std::map<std::string, std::size_t>& positions, std::size_t x,
                  std::size_t step) {
  std::string text;
  for (const auto& [name, at] : positions) {
    const std::size_t y = kMargin + at * step;
    text += Format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"18\" fill=\"#eef\" stroke=\"#446\"/>"
        "<text x=\"{}\" y=\"{}\">{}</text>\n",
        x, y, kBox, x + 6, y + 13, XmlText(name));
  }
  return text;
}

}  // namespace

std::string TopologyDot(const v1::ListDevicesResponse& devices) {
  std::string text = "graph fabric {\n  rankdir=LR;\n  node [shape=box];\n";
  for (const Link& link : LinksOf(devices))
    text += Format("  {} -- {} [label={}{}];\n", DotText("switch " + link.leaf), DotText(link.node),
                   DotText(LabelOf(link)), link.active ? "" : ", color=red, style=dashed");
  return text + "}\n";
}

std::string TopologySvg(const v1::ListDevicesResponse& devices) {
  const std::vector<Link> links = LinksOf(devices);
  const auto leaves = Positions(links, &Link::leaf);
  const auto nodes = Positions(links, &Link::node);
  const std::size_t rows = std::max<std::size_t>(1, std::max(leaves.size(), nodes.size()));
  const std::size_t height = 2 * kMargin + rows * kRow;
  const std::size_t leaf_step = leaves.empty() ? kRow : std::max(kRow, rows * kRow / leaves.size());
  std::string text = Format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<title>Leaf switches and nodes</title>\n",
      kNodesAt + kBox + kMargin, height);
  for (const Link& link : links) {
    const std::size_t from = kMargin + leaves.at(link.leaf) * leaf_step + 9;
    const std::size_t to = kMargin + nodes.at(link.node) * kRow + 9;
    text += Format(
        "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\"><title>{} "
        "{}{}</title></line>\n",
        kMargin + kBox, from, kNodesAt, to, link.active ? "#4a4" : "#c22", XmlText(link.node),
        XmlText(LabelOf(link)), link.active ? "" : ", not ACTIVE");
  }
  return text + Boxes(leaves, kMargin, leaf_step) + Boxes(nodes, kNodesAt, kRow) + "</svg>\n";
}

}  // namespace fabric::ctl
