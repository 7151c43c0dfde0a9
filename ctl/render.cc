#include "ctl/render.h"

#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "proto/json.h"

namespace fabric::ctl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kGap = "  ";
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kYellow = "\x1b[33m";
constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kMagenta = "\x1b[35m";
constexpr std::string_view kPlain = "\x1b[0m";

struct WordColour {
  std::string_view word;
  std::string_view colour;
};
constexpr WordColour kWordColours[] = {
    {"critical", kRed},   {"error", kRed},       {"warning", kYellow},   {"unknown", kYellow},
    {"lost", kRed},       {"connected", kGreen}, {"DOWN", kRed},         {"INIT", kYellow},
    {"ARMED", kYellow},   {"ACTIVE", kGreen},    {"FAIL", kRed},         {"UNKNOWN", kYellow},
    {"ok", kGreen},       {"refused", kRed},     {"unreachable", kRed},  {"setup failed", kRed},
    {"timed out", kRed},  {"failed", kRed},      {"cancelled", kYellow}, {"running", kYellow},
    {"resolved", kGreen}, {"open", kRed},        {"lossy", kYellow},     {"░░", kGreen},
    {"▒▒", kYellow},      {"▓▓", kYellow},       {"██", kRed},           {"XX", kMagenta},
};

std::string_view ColourOf(std::string_view word) {
  for (const WordColour& row : kWordColours)
    if (row.word == word) return row.colour;
  return {};
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
// Combining marks and characters without width.
constexpr Range kZeroWidth[] = {
    {0x300, 0x36f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}};
// East Asian wide and full width, and pictographs (Unicode TR 11).
constexpr Range kDoubleWidth[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},  {0x3041, 0xa4cf},
                                  {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe30, 0xfe6f},
                                  {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
                                  {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

bool In(std::span<const Range> ranges, std::uint32_t code) {
  return std::ranges::any_of(
      ranges, [&](const Range& range) { return range.first <= code && code <= range.last; });
}

// The columns of `table` that the format shows.
std::vector<std::size_t> Shown(const Table& table, bool wide) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (wide || !table.columns[i].wide_only) shown.push_back(i);
  return shown;
}

std::string Line(const std::vector<std::string>& cells, const std::vector<Table::Column>& columns,
                 const std::vector<std::size_t>& shown, const std::vector<std::size_t>& widths,
                 bool colour) {
  std::string line;
  for (std::size_t n = 0; n < shown.size(); ++n) {
    const std::size_t i = shown[n];
    const std::string text = Printable(cells[i]);
    const std::string padding(widths[n] - std::min(widths[n], DisplayWidth(text)), ' ');
    const std::string_view paint =
        colour && columns[i].coloured ? ColourOf(text) : std::string_view();
    if (n > 0 && !columns[i].tight) line += kGap;
    if (columns[i].right_aligned) line += padding;
    line += paint;
    line += text;
    if (!paint.empty()) line += kPlain;
    if (!columns[i].right_aligned && n + 1 < shown.size()) line += padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// The beginning of the text in this width, with a mark that it is cut.
std::string CutTo(std::string_view text, std::size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  std::string cut;
  while (!text.empty() && DisplayWidth(cut) + 1 < width) {
    const std::size_t bytes = FirstRune(text).bytes;
    cut += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return cut + "…";
}

// The columns of a table that are shown, and their widths.
struct Layout {
  std::vector<std::size_t> shown;
  std::vector<std::size_t> widths;
};

// Makes elastic columns narrower until the line fits, the widest first, the main column not below
// main_min, and with `late` none below its cut_late. False: the line does not fit.
bool Shrink(const Table& table, std::size_t columns, std::size_t main_min, bool late,
            Layout& layout) {
  std::size_t line = 0;
  for (std::size_t n = 0; n < layout.shown.size(); ++n)
    line += layout.widths[n] + (n == 0 || table.columns[layout.shown[n]].tight ? 0 : kGap.size());
  while (line > columns) {
    std::size_t* widest = nullptr;
    for (std::size_t n = 0; n < layout.shown.size(); ++n) {
      const Table::Column& column = table.columns[layout.shown[n]];
      const std::size_t least =
          std::max({column.cut_min, column.main ? main_min : 0, late ? column.cut_late : 0});
      if (column.elastic && layout.widths[n] > least &&
          (widest == nullptr || layout.widths[n] > *widest))
        widest = &layout.widths[n];
    }
    if (widest == nullptr) return false;
    --*widest;
    --line;
  }
  return true;
}

// Leaves out the column that is dropped first. False: all others stay.
bool DropOne(const Table& table, Layout& layout) {
  std::size_t first = layout.shown.size();
  for (std::size_t n = 0; n < layout.shown.size(); ++n) {
    const int drop = table.columns[layout.shown[n]].drop;
    if (drop > 0 &&
        (first == layout.shown.size() || drop < table.columns[layout.shown[first]].drop))
      first = n;
  }
  if (first == layout.shown.size()) return false;
  layout.shown.erase(layout.shown.begin() + static_cast<std::ptrdiff_t>(first));
  layout.widths.erase(layout.widths.begin() + static_cast<std::ptrdiff_t>(first));
  return true;
}

// Makes the lines fit: cuts elastic columns, then leaves out columns, then cuts more, and last the
// main column below its share of the terminal.
Layout Fit(const Table& table, std::size_t columns, Layout natural) {
  const std::size_t share = (2 * columns + 4) / 5;
  do {
    Layout cut = natural;
    if (Shrink(table, columns, share, true, cut)) return cut;
  } while (DropOne(table, natural));
  Layout cut = natural;
  if (Shrink(table, columns, share, false, cut)) return cut;
  Shrink(table, columns, 0, false, natural);
  return natural;
}

std::string PrintableLines(std::string_view lines) {
  std::string printable;
  for (; !lines.empty(); lines.remove_prefix(std::min(lines.size(), lines.find('\n') + 1))) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    printable += Printable(line) + "\n";
    if (line.size() == lines.size()) break;
  }
  return printable;
}

std::string TableText(const Table& table, const RenderOptions& options) {
  Layout layout{.shown = Shown(table, options.format == OutputFormat::kWide), .widths = {}};
  std::vector<std::string> titles;
  for (const Table::Column& column : table.columns) titles.push_back(column.title);
  for (const std::size_t i : layout.shown) {
    std::size_t width = options.stream ? table.columns[i].width_min
                                       : DisplayWidth(Printable(table.columns[i].title));
    for (const auto& row : table.rows) width = std::max(width, DisplayWidth(Printable(row[i])));
    layout.widths.push_back(width);
  }
  const bool fit = options.columns > 0 && !options.stream && options.format == OutputFormat::kTable;
  if (fit) layout = Fit(table, options.columns, std::move(layout));
  const auto& [shown, widths] = layout;
  std::string text;
  if (!table.title.empty()) text += PrintableLines(table.title);
  if (!options.stream && options.headers) text += Line(titles, table.columns, shown, widths, false);
  for (const auto& row : table.rows) {
    std::vector<std::string> cells = row;
    for (std::size_t n = 0; fit && n < shown.size(); ++n)
      if (table.columns[shown[n]].elastic) cells[shown[n]] = CutTo(row[shown[n]], widths[n]);
    text += Line(cells, table.columns, shown, widths, options.colour);
  }
  return text;
}

std::string Text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The members of an object in YAML: a list has one line for each element. JSON is YAML, too.
std::string Members(const Json& object, std::string_view indent) {
  std::string yaml;
  for (const auto& [name, value] : object.items()) {
    yaml += Format("{}{}:{}\n", indent, name, value.is_array() ? "" : " " + Text(value));
    if (!value.is_array()) continue;
    for (const Json& element : value) yaml += Format("{}- {}\n", indent, Text(element));
  }
  return yaml;
}

// RFC 4180; an absent value is an empty field.
std::string CsvLine(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    const std::string text = cell == "-" ? "" : Printable(cell);
    if (&cell != cells.data()) line += ',';
    if (text.find_first_of(",\"") == std::string::npos) {
      line += text;
      continue;
    }
    line += '"';
    for (const char c : text) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + "\n";
}

std::string CsvText(const Table& table, bool rows_only) {
  std::vector<std::string> titles;
  for (const Table::Column& column : table.columns) titles.push_back(column.title);
  std::string text = rows_only ? "" : CsvLine(titles);
  for (const auto& row : table.rows) text += CsvLine(row);
  return text;
}

// The elements of the first list of messages, or the message, on one line each.
std::string JsonLines(const google::protobuf::Message& message, bool stream) {
  const auto& descriptor = *message.GetDescriptor();
  const auto& reflection = *message.GetReflection();
  std::string lines;
  for (int i = 0; !stream && i < descriptor.field_count(); ++i) {
    const auto* const field = descriptor.field(i);
    if (!field->is_repeated() || field->message_type() == nullptr || field->is_map()) continue;
    for (int n = 0; n < reflection.FieldSize(message, field); ++n)
      lines += ToJson(reflection.GetRepeatedMessage(message, field, n), false) + "\n";
    return lines;
  }
  return ToJson(message, false) + "\n";
}

// For terminals without UTF-8.
std::string AsciiText(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kReplaced[] = {
      {"µ", "u"}, {"…", "~"}, {"×", "x"}, {"→", "->"}, {"█", "#"},
      {"░", "."}, {"▒", ":"}, {"▓", "*"}, {"·", " "}};
  std::string ascii;
  while (!text.empty()) {
    const std::string_view rune = text.substr(0, FirstRune(text).bytes);
    const auto* const row =
        std::ranges::find(kReplaced, rune, &std::pair<std::string_view, std::string_view>::first);
    if (row != std::end(kReplaced))
      ascii += row->second;
    else
      ascii += rune.size() == 1 ? rune : "?";
    text.remove_prefix(rune.size());
  }
  return ascii;
}

// Separates parts by blank lines.
void Append(std::string_view part, std::string& text) {
  if (part.empty()) return;
  if (!text.empty()) text += "\n";
  text += part;
}

}  // namespace

Rendered Render(const Output& output, const RenderOptions& options) {
  Rendered rendered;
  switch (options.format) {
    case OutputFormat::kJson:
      if (output.message == nullptr) return rendered;
      rendered.out = ToJson(*output.message, !options.stream);
      if (!rendered.out.ends_with('\n')) rendered.out += '\n';
      return rendered;
    case OutputFormat::kYaml:
      if (output.message == nullptr) return rendered;
      rendered.out = (options.stream ? "---\n" : "") + ToYaml(*output.message);
      return rendered;
    case OutputFormat::kName:
      for (const std::string& name : output.names) rendered.out += Printable(name) + "\n";
      return rendered;
    case OutputFormat::kJsonl:
      if (output.message != nullptr) rendered.out = JsonLines(*output.message, options.stream);
      return rendered;
    case OutputFormat::kCsv:
      for (const Table& table : output.tables)
        if (!table.in_table_only && (!table.rows.empty() || output.tables.size() == 1))
          Append(CsvText(table, options.stream || !options.headers), rendered.out);
      return rendered;
    case OutputFormat::kTable:
    case OutputFormat::kWide: break;
  }
  rendered.out = PrintableLines(output.before);
  for (const Table& table : output.tables) {
    const bool wide = options.format == OutputFormat::kWide;
    if (wide ? table.in_table_only : table.wide_only) continue;
    if (table.rows.empty() && !table.empty_note.empty())
      rendered.notes += table.empty_note + "\n";
    else
      Append(TableText(table, options), rendered.out);
  }
  Append(PrintableLines(output.after), rendered.out);
  if (options.ascii) rendered.out = AsciiText(rendered.out);
  return rendered;
}

std::unique_ptr<google::protobuf::Message> RowsMessage(const Table& table,
                                                       const std::string& list) {
  auto message = std::make_unique<google::protobuf::Struct>();
  auto& rows = *(*message->mutable_fields())[list].mutable_list_value();
  for (const auto& row : table.rows) {
    auto& members = *rows.add_values()->mutable_struct_value()->mutable_fields();
    for (std::size_t n = 0; n < row.size(); ++n) {
      if (row[n] == "-" || row[n].empty()) continue;
      std::string name = table.columns[n].title;
      std::ranges::transform(name, name.begin(), [](unsigned char c) {
        return std::isalnum(c) == 0 ? '_' : static_cast<char>(std::tolower(c));
      });
      members[name].set_string_value(row[n]);
    }
  }
  return message;
}

std::string ListRenderer::Begin() const {
  return format_ == OutputFormat::kJson ? Format("{{{}:[", Text(list_)) : Format("{}:\n", list_);
}

std::string ListRenderer::Item(const Json& object) {
  const bool first = std::exchange(first_, false);
  if (format_ == OutputFormat::kJson) return (first ? "\n" : ",\n") + Text(object);
  std::string yaml = Members(object, "  ");
  yaml.front() = '-';
  return yaml;
}

std::string ListRenderer::End(const Json& more) {
  if (format_ == OutputFormat::kYaml) return Members(more, "");
  std::string text = "]";
  for (const auto& [name, value] : more.items()) text += Format(",{}:{}", Text(name), Text(value));
  return text + "}\n";
}

OutputFormat FormatNamed(std::string_view name) {
  if (name == "wide") return OutputFormat::kWide;
  if (name == "json") return OutputFormat::kJson;
  if (name == "yaml") return OutputFormat::kYaml;
  if (name == "name") return OutputFormat::kName;
  if (name == "jsonl") return OutputFormat::kJsonl;
  if (name == "csv") return OutputFormat::kCsv;
  return OutputFormat::kTable;
}

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Rune rune = FirstRune(text);
    if (!In(kZeroWidth, rune.code)) width += In(kDoubleWidth, rune.code) ? 2 : 1;
    text.remove_prefix(rune.bytes);
  }
  return width;
}

std::string Printable(std::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const Rune rune = FirstRune(text);
    if (!rune.valid)
      printable += '?';
    else if (rune.code < 0x20 || (rune.code >= 0x7f && rune.code < 0xa0))
      printable += ' ';
    else
      printable += text.substr(0, rune.bytes);
    text.remove_prefix(rune.bytes);
  }
  return printable;
}

}  // namespace fabric::ctl
