#include "subnet/files/formats.h"

#include "base/text.h"
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
};

std::vector<Part> PartsOf(const FileFormat* format, std::string_view text) {
  constexpr std::size_t kPartsMax = 64;
  std::vector<Part> parts = {{.format = format}};
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size() && parts.size() < kPartsMax; ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const FileFormat* const typical = FormatOf(Trim(Shown(Trim(text.substr(at, end - at)))));
    if (typical != nullptr && typical->read != nullptr && typical != parts.back().format)
      parts.push_back({.format = typical, .begin = at, .line = line});
    at = end + 1;
  }
  return parts;
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
    else if (line.find(" ==(") != std::string_view::npos)
      seen = "output of iblinkinfo: run ibnetdiscover";
  });
  return seen.empty() ? Quoted(text.substr(0, text.find('\n'))) : seen;
}

}  // namespace

Status AddFile(const std::string& file, std::string_view text, Builder& builder) {
  if (text.size() > kFileBytesMax)
    return Status(Code::kResourceExhausted, Format("{}: expected at most {} bytes, saw {}", file,
                                                   kFileBytesMax, text.size()));
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
  if (parts.size() == 1) {
    format->read(file, text, builder);
    return {};
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t end = i + 1 < parts.size() ? parts[i + 1].begin : text.size();
    // Empty lines in front, so that problems have the line of the file.
    std::string part(parts[i].line - 1, '\n');
    part += text.substr(parts[i].begin, end - parts[i].begin);
    parts[i].format->read(file, part, builder);
  }
  return {};
}

Result<Subnet> ReadFiles(const std::vector<std::string>& files,
                         const std::function<Result<std::string>(const std::string&)>& read) {
  Builder builder;
  Status refused;  // Of the first file that has no known format
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const std::string text, read(file));
    Status added = AddFile(file, text, builder);
    if (added.ok()) continue;
    const std::string& message = added.message();
    const std::string prefix = file + ": ";
    builder.AddProblem(
        {file, 0, message.starts_with(prefix) ? message.substr(prefix.size()) : message});
    if (refused.ok()) refused = std::move(added);
  }
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
