#include "subnet/files/formats.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "subnet/files/plain_text.h"
#include "subnet/files/readings.h"
#include "subnet/files/scanner.h"

namespace fabric::subnet {
namespace {

constexpr const FileFormat* kFormats[] = {
    &kSnapshotFormat, &kIbnetdiscoverFormat, &kSubnetListFormat, &kDumpLftsFormat, &kFdbsFormat,
    &kSminfoFormat,   &kNodeNameMapFormat,   &kNdtFormat,        &kTopoFormat,
};

const FileFormat* FormatOf(std::string_view line) {
  for (const FileFormat* const format : kFormats)
    if (format->recognises(line)) return format;
  return nullptr;
}

}  // namespace

const FileFormat* DetectFormat(std::string_view text) {
  const FileFormat* found = nullptr;
  while (!text.empty() && found == nullptr) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    ForEachLine(text.substr(0, end),
                [&](std::size_t, std::string_view line) { found = FormatOf(line); });
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

namespace {

// Outputs of several commands in one text, such as a terminal log.
struct Part {
  const FileFormat* format = nullptr;
  std::size_t begin = 0;
  std::size_t line = 1;  // Number of its first line
  std::size_t end = 0;
};

constexpr std::string_view kTopologyBegins = "# Topology file: generated on";

std::vector<Part> PartsOf(const FileFormat* format, std::string_view text) {
  constexpr std::size_t kPartsMax = 64;
  std::vector<Part> parts = {{.format = format}};
  std::size_t line = 1;
  bool has_topology = false;
  for (std::size_t at = 0; at < text.size() && parts.size() < kPartsMax; ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string shown = Shown(Trim(text.substr(at, end - at)));
    const FileFormat* const typical = FormatOf(Trim(shown));
    const bool topology = Trim(shown).starts_with(kTopologyBegins);
    if (typical != nullptr && typical->read != nullptr &&
        (typical != parts.back().format || (topology && has_topology)))
      parts.push_back({.format = typical, .begin = at, .line = line});
    has_topology = has_topology || topology;
    at = end + 1;
  }
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i].end = i + 1 < parts.size() ? parts[i + 1].begin : text.size();
  return parts;
}

// Length of what each line begins with, such as "> " of a quoted mail, or the time and program of
// syslog. Digits count as equal. 0: nothing, or the lines cannot be read without it.
std::size_t PrefixOf(std::string_view text, std::string_view& common) {
  std::size_t lines = 0;
  const auto digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.find_first_not_of(" \t\r>|") == line.npos) continue;
    if (lines++ == 0) common = line.substr(0, 200);
    std::size_t same = 0;
    while (same < common.size() && same < line.size() &&
           (common[same] == line[same] || (digit(common[same]) && digit(line[same]))))
      ++same;
    common = common.substr(0, same);
    if (common.empty()) return 0;
  }
  return lines >= 3 ? common.size() : 0;
}

std::string WithoutFirst(std::string_view text, std::size_t length) {
  std::string without;
  without.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > length) without += text.substr(length, end - length);
    without += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return without;
}

// The text without a prefix that all lines have; empty if it has none.
std::string WithoutPrefix(std::string_view text) {
  std::string_view common;
  for (std::size_t length = PrefixOf(text, common); length > 1; --length) {
    const std::string_view ending = common.substr(length - 2, 2);
    if (ending != "> " && ending != ": " && ending != "| " && ending != "] ") continue;
    std::string without = WithoutFirst(text, length);
    if (DetectFormat(without) != nullptr) return without;
  }
  return "";
}

// Another output of a known tool, and what to run instead; else the first line.
std::string SeenIn(std::string_view text) {
  if (Trim(text).empty()) return "an empty file";
  std::string seen;
  ForEachLine(text.substr(0, 4096), [&](std::size_t, std::string_view line) {
    if (!seen.empty()) return;
    const bool pair = line.starts_with("CA ") || line.starts_with("SW ");
    if (pair && line.find(" 0x") != std::string_view::npos)
      seen = "output of ibnetdiscover -p: run it without -p";
    else if (line.find(": 0x") != std::string_view::npos && line.find(" devid 0x") != line.npos)
      seen = "output of ibnetdiscover -l: run it without -l";
    else if (line.starts_with("START_") || line.find("generated by IBDIAG") != line.npos)
      seen = "another file of ibdiagnet: give ibdiagnet2.lst and ibdiagnet2.fdbs";
    else if (line.find(" ==(") != std::string_view::npos)
      seen = "output of iblinkinfo: run ibnetdiscover";
  });
  return seen.empty() ? Quoted(text.substr(0, text.find('\n'))) : seen;
}

Status AddText(const std::string& file, std::string_view text, Readings& readings,
               Builder& builder) {
  const FileFormat* const format = DetectFormat(text);
  if (format == nullptr)
    return Status(Code::kInvalidArgument,
                  Format("{}: expected output of fabric-agent subnet read, ibnetdiscover, "
                         "dump_lfts or sminfo, or a dump of opensm"
                         " (opensm-subnet.lst, opensm-lfts.dump, opensm.fdbs), saw {}",
                         file, SeenIn(text)));
  if (format->read == nullptr)
    return Status(Code::kInvalidArgument,
                  Format("{}: expected a file of a subnet, saw a cable plan ({}); use --plan", file,
                         format->name));
  const std::vector<Part> parts = PartsOf(format, text);
  for (const Part& each : parts) {
    // Empty lines in front, so that problems have the line of the file.
    std::string part(each.line - 1, '\n');
    part += text.substr(each.begin, each.end - each.begin);
    readings.Add(*each.format, {file, each.line}, std::move(part), builder);
  }
  return {};
}

// A file in the form that its format describes.
Status AddReadings(const std::string& file, std::string_view text, Readings& readings,
                   Builder& builder) {
  if (text.size() > kFileBytesMax)
    return Status(Code::kResourceExhausted, Format("{}: expected at most {} bytes, saw {}", file,
                                                   kFileBytesMax, text.size()));
  ASSIGN_OR_RETURN(const std::optional<PlainText> plain, ToPlainText(file, text, kFileBytesMax));
  if (plain && !plain->problem.empty()) builder.AddProblem({file, 0, plain->problem});
  if (plain) text = plain->text;
  const std::string without = WithoutPrefix(text);
  return AddText(file, without.empty() ? text : without, readings, builder);
}

}  // namespace

Status AddFile(const std::string& file, std::string_view text, Builder& builder) {
  Readings readings;
  RETURN_IF_ERROR(AddReadings(file, text, readings, builder));
  readings.ReadLast(builder);
  return {};
}

Result<Subnet> ReadFiles(const std::vector<std::string>& files,
                         const std::function<Result<std::string>(const std::string&)>& read) {
  Builder builder;
  Readings readings;
  Status refused;  // Of the first file that has no known format
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const std::string text, read(file));
    Status added = AddReadings(file, text, readings, builder);
    if (added.ok()) continue;
    const std::string& message = added.message();
    const std::string prefix = file + ": ";
    builder.AddProblem(
        {file, 0, message.starts_with(prefix) ? message.substr(prefix.size()) : message});
    if (refused.ok()) refused = std::move(added);
  }
  readings.ReadLast(builder);
  Subnet made = builder.Finish();
  if (!made.Cables().empty()) return made;
  if (made.sources().empty() && !refused.ok()) return refused;
  const std::vector<Problem>& problems = made.problems().kept();
  return Status(
      Code::kFailedPrecondition,
      Format("{}: expected at least one cable, saw none: add the output of ibnetdiscover{}",
             Join(files, ", "), problems.empty() ? std::string() : "; " + ToString(problems[0])));
}

}  // namespace fabric::subnet
