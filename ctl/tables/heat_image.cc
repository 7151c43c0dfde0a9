#include "ctl/tables/heat_image.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "ctl/png.h"
#include "ctl/tables/heat_map.h"

namespace fabric::ctl {
namespace {

// Indexes of the palette; Shade follows.
constexpr std::uint8_t kBackground = 0;
constexpr std::uint8_t kInk = 1;
constexpr std::uint8_t kShades = 2;
constexpr std::array<Rgb, 8> kPalette = {{{255, 255, 255},
                                          {30, 30, 30},
                                          {228, 228, 228},  // Not measured
                                          {102, 189, 99},   // Good
                                          {254, 224, 92},   // Fair
                                          {244, 150, 60},   // Poor
                                          {206, 40, 40},    // Bad
                                          {84, 24, 110}}};  // Failed

// Five rows of three dots: each octal digit is a row.
struct Glyph {
  char letter;
  std::string_view rows;
};
constexpr Glyph kGlyphs[] = {
    {'0', "75557"}, {'1', "26227"}, {'2', "71747"}, {'3', "71717"}, {'4', "55711"}, {'5', "74717"},
    {'6', "74757"}, {'7', "71122"}, {'8', "75757"}, {'9', "75717"}, {'A', "25755"}, {'B', "65656"},
    {'C', "34443"}, {'D', "65556"}, {'E', "74647"}, {'F', "74644"}, {'G', "34553"}, {'H', "55755"},
    {'I', "72227"}, {'J', "11152"}, {'K', "55655"}, {'L', "44447"}, {'M', "57755"}, {'N', "65555"},
    {'O', "25552"}, {'P', "65644"}, {'Q', "25563"}, {'R', "65655"}, {'S', "34216"}, {'T', "72222"},
    {'U', "55557"}, {'V', "55552"}, {'W', "55775"}, {'X', "55255"}, {'Y', "55222"}, {'Z', "71247"},
    {'-', "00700"}, {'.', "00002"}, {':', "02020"}, {',', "00024"}, {'/', "11244"}, {'_', "00007"},
    {'(', "12221"}, {')', "42224"}, {'%', "51245"}, {' ', "00000"}};
constexpr std::string_view kUnknownGlyph = "77777";

constexpr std::size_t kDot = 2;
constexpr std::size_t kAdvance = 4 * kDot;  // Of a letter
constexpr std::size_t kLine = 8 * kDot;
constexpr std::size_t kMargin = 12;
constexpr std::size_t kPixelsMax = std::size_t{64} << 20;

std::string_view RowsOf(char letter) {
  const char upper = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  const auto* const glyph = std::ranges::find(kGlyphs, upper, &Glyph::letter);
  return glyph == std::end(kGlyphs) ? kUnknownGlyph : glyph->rows;
}

// "µs" has no letter in this font.
std::string Printable(std::string text) {
  constexpr std::string_view kMicro = "µ";
  for (std::size_t at = 0; (at = text.find(kMicro, at)) != text.npos;)
    text.replace(at, kMicro.size(), "u");
  return text;
}

// The text from left to right, or upwards from `top`.
void Write(std::string_view text, std::size_t left, std::size_t top, bool upwards, Image& image) {
  std::size_t along = 0;
  for (const char letter : text) {
    const std::string_view rows = RowsOf(letter);
    for (std::size_t row = 0; row < rows.size(); ++row)
      for (std::size_t column = 0; column < 3; ++column) {
        if (((rows[row] - '0') >> (2 - column)) % 2 == 0) continue;
        const std::size_t x = along + column * kDot, y = row * kDot;
        image.Fill(upwards ? left + y : left + x, upwards ? top - x - kDot : top + y, kDot, kDot,
                   kInk);
      }
    along += kAdvance;
  }
}

// Where the parts of one heat map are, from its top.
struct Layout {
  std::size_t cell;    // Pixels of a cell, with its gap
  std::size_t labels;  // Of the longest name; 0: cells are too small for names.
  std::size_t grid_top;
  std::size_t width;
  std::size_t height;

  explicit Layout(const HeatMap& map) {
    const std::size_t nodes = map.nodes.size();
    cell = nodes <= 64 ? 14 : nodes <= 256 ? 6 : 3;
    std::size_t longest = 0;
    for (const std::string& node : map.nodes) longest = std::max(longest, node.size());
    labels = nodes <= 64 ? longest * kAdvance + 6 : 0;
    std::size_t text = std::max(map.title.size(), HeadOf(map).size());
    for (const auto& [shade, words] : map.legend) text = std::max(text, words.size() + 3);
    grid_top = (2 + map.legend.size()) * kLine + labels + kMargin;
    width = 2 * kMargin + std::max(labels + nodes * cell, text * kAdvance);
    height = grid_top + nodes * cell + 2 * kMargin;
  }

  static std::string HeadOf(const HeatMap& map) {
    return Format("{} to {}{}{}", map.nodes.front(), map.nodes.back(),
                  map.median.empty() ? "" : ", ", map.median);
  }
};

std::uint8_t ColourOf(Shade shade) {
  return static_cast<std::uint8_t>(kShades + static_cast<std::uint8_t>(shade));
}

void Draw(const HeatMap& map, const Layout& layout, std::size_t top, Image& image) {
  Write(Printable(map.title), kMargin, top, false, image);
  Write(Layout::HeadOf(map), kMargin, top + kLine, false, image);
  for (std::size_t n = 0; n < map.legend.size(); ++n) {
    const std::size_t y = top + (2 + n) * kLine;
    image.Fill(kMargin, y, 2 * kAdvance, 5 * kDot, ColourOf(map.legend[n].first));
    Write(map.legend[n].second, kMargin + 3 * kAdvance, y, false, image);
  }
  const std::size_t left = kMargin + layout.labels, grid = top + layout.grid_top;
  const std::size_t nodes = map.nodes.size();
  for (std::size_t row = 0; row < nodes; ++row) {
    if (layout.labels > 0) {
      Write(map.nodes[row], kMargin, grid + row * layout.cell + 1, false, image);
      Write(map.nodes[row], left + row * layout.cell + 1, grid - 4, true, image);
    }
    for (std::size_t column = 0; column < nodes; ++column)
      image.Fill(left + column * layout.cell, grid + row * layout.cell, layout.cell - 1,
                 layout.cell - 1, ColourOf(map.cells[row * nodes + column]));
  }
}

}  // namespace

Result<std::string> HeatPng(const v1::Campaign& campaign) {
  const std::vector<Matrix> matrices = MatricesOf(campaign);
  if (matrices.empty()) return Status(Code::kFailedPrecondition, "no results yet");
  std::size_t nodes_max = 0;
  for (const Matrix& matrix : matrices) nodes_max = std::max(nodes_max, MatrixNodes(matrix).size());
  // Three pixels for a cell
  if (matrices.size() * nodes_max * nodes_max * 9 > kPixelsMax)
    return Status(
        Code::kFailedPrecondition,
        Format("{} matrices of {} nodes are too large for an image; use --kind, or -o csv",
               matrices.size(), nodes_max));
  std::vector<HeatMap> maps;
  std::size_t width = 0, height = kMargin;
  for (const Matrix& matrix : matrices) {
    maps.push_back(HeatMapOf(matrix, MatrixNodes(matrix)));
    const Layout layout(maps.back());
    width = std::max(width, layout.width);
    height += layout.height;
  }
  Image image(width, height);
  image.Fill(0, 0, width, height, kBackground);
  std::size_t top = kMargin;
  for (const HeatMap& map : maps) {
    const Layout layout(map);
    Draw(map, layout, top, image);
    top += layout.height;
  }
  return PngOf(image, kPalette);
}

}  // namespace fabric::ctl
