#include "tests/testing/tree_archive.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "base/text.h"
#include "tests/testing/paths.h"

namespace fabric::testing {
namespace {

namespace fs = std::filesystem;

Result<std::string> FromHex(std::string_view digits) {
  std::string bytes;
  for (std::size_t at = 0; at < digits.size(); at += 2) {
    ASSIGN_OR_RETURN(const auto byte, ParseNumber<unsigned char>(digits.substr(at, 2), 16));
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

constexpr std::size_t kSparseBytesMax = 1 << 20;

// "4096 0:de10 34:60"
Result<std::string> FromSparse(std::string_view text) {
  const std::vector<std::string_view> words = Words(text);
  ASSIGN_OR_RETURN(const auto size,
                   ParseNumber<std::size_t>(words.empty() ? std::string_view() : words[0]));
  if (size > kSparseBytesMax) return Status(Code::kInvalidArgument, "expected at most 1 MiB");
  std::string bytes(size, '\0');
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::vector<std::string_view> parts = Split(words[i], ':');
    if (parts.size() != 2)
      return Status(Code::kInvalidArgument, "expected 'offset:bytes', saw " + Quoted(words[i]));
    ASSIGN_OR_RETURN(const auto offset, ParseNumber<std::size_t>(parts[0], 16));
    ASSIGN_OR_RETURN(const std::string run, FromHex(parts[1]));
    if (offset > size || run.size() > size - offset)
      return Status(Code::kInvalidArgument, "beyond the end: " + Quoted(words[i]));
    bytes.replace(offset, run.size(), run);
  }
  return bytes;
}

Status Write(const fs::path& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  if (!file) return {Code::kInternal, path.string() + ": cannot be written"};
  return {};
}

// One entry: "name = content", "name -> target" and so on.
struct Entry {
  std::string name;
  std::string kind;
  std::string rest;
};

Result<Entry> ParseEntry(std::string_view line) {
  const std::size_t name_end = line.find(' ');
  const std::size_t kind_end = std::min(line.find(' ', name_end + 1), line.size());
  if (name_end == std::string_view::npos)
    return Status(Code::kInvalidArgument, "expected 'name = content', saw " + Quoted(line));
  Entry entry{.name = std::string(line.substr(0, name_end)),
              .kind = std::string(line.substr(name_end + 1, kind_end - name_end - 1)),
              .rest = kind_end < line.size() ? std::string(line.substr(kind_end + 1)) : ""};
  if (entry.name.starts_with('/') || ("/" + entry.name + "/").find("/../") != std::string::npos)
    return Status(Code::kInvalidArgument, "expected a path below, saw " + Quoted(entry.name));
  return entry;
}

Status Unpack(const Entry& entry, const std::string& block, const fs::path& path) {
  if (fs::exists(fs::symlink_status(path)))
    return {Code::kInvalidArgument, Format("{}: already there", entry.name)};
  std::error_code error;
  fs::create_directories(entry.kind == "/" ? path : path.parent_path(), error);
  if (!error && entry.kind == "->") fs::create_symlink(entry.rest, path, error);
  if (error) return {Code::kInvalidArgument, entry.name + ": " + error.message()};
  if (entry.kind == "->" || entry.kind == "/") return {};
  if (entry.kind == "=") return Write(path, entry.rest + "\n");
  if (entry.kind == "!") return Write(path, "");
  if (entry.kind == "|") return Write(path, block);
  if (entry.kind == "#") {
    ASSIGN_OR_RETURN(const std::string bytes, FromHex(entry.rest));
    return Write(path, bytes);
  }
  if (entry.kind == "@") {
    ASSIGN_OR_RETURN(const std::string bytes, FromSparse(entry.rest));
    return Write(path, bytes);
  }
  return {Code::kInvalidArgument, "expected one of = -> / | ! # @, saw " + Quoted(entry.kind)};
}

}  // namespace

Status UnpackTree(std::string_view archive, const std::string& directory) {
  const std::vector<std::string_view> lines = Split(archive, '\n');
  fs::path below = directory;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const std::string_view line = lines[at];
    if (Trim(line).empty() || line.starts_with('#')) continue;
    const std::string where = Format("line {}", at + 1);
    if (line.starts_with("In: ")) {
      below = fs::path(directory) / Trim(line.substr(4));
      std::error_code error;
      fs::create_directories(below, error);
      if (error) return {Code::kInvalidArgument, where + ": " + error.message()};
      continue;
    }
    const Result<Entry> entry = ParseEntry(line);
    if (!entry.ok()) return entry.status().In(where);
    std::string block;
    while (entry->kind == "|" && at + 1 < lines.size() && lines[at + 1].starts_with('|'))
      block += std::string(lines[++at].substr(1)) + "\n";
    RETURN_IF_ERROR(Unpack(*entry, block, below / entry->name).In(where));
  }
  return {};
}

Fixture::Fixture(const std::string& name) {
  const fs::path path = fs::path(kSourceDir) / "tests/fixtures" / (name + ".tree");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream archive;
  archive << file.rdbuf();
  const Status status =
      file ? UnpackTree(archive.str(), tree_.path()) : Status(Code::kNotFound, "cannot be opened");
  if (!status.ok()) throw std::runtime_error(status.In(path.string()).message());
}

}  // namespace fabric::testing
