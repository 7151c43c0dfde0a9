#include "daemon/access/access_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/suggest.h"
#include "base/text.h"
#include "proto/roles.h"

namespace fabric::access {
namespace {

Status ErrorAt(std::string_view file, const yaml::Position& position, std::string_view message) {
  return {Code::kInvalidArgument,
          ToString(yaml::Problem{
              .file = std::string(file), .position = position, .message = std::string(message)})};
}

}  // namespace

Status FileEntry::Error(std::string_view key, std::string_view message) const {
  const yaml::Node* const value = node_.Find(key);
  return ErrorAt(file_, (value == nullptr ? node_ : *value).position,
                 key.empty() ? std::string(message) : Format("{}: {}", key, message));
}

Status FileEntry::CheckKeys(std::span<const std::string_view> known) const {
  std::set<std::string_view> seen;
  for (const auto& [key, value] : node_.entries) {
    if (std::ranges::find(known, key.text) == known.end())
      return ErrorAt(file_, key.position,
                     UnknownName("key", key.text, Candidates(known.begin(), known.end())));
    if (!seen.insert(key.text).second)
      return ErrorAt(file_, key.position, Format("{}: expected it once", Quoted(key.text)));
  }
  return {};
}

Result<std::string> FileEntry::Text(std::string_view key) const {
  const yaml::Node* const value = node_.Find(key);
  if (value == nullptr) return Error({}, Format("expected a value of '{}', saw none", key));
  if (value->kind != yaml::Node::Kind::kText || value->text.empty())
    return Error(key, "expected a text, saw " + yaml::Seen(*value));
  return value->text;
}

Result<std::vector<v1::Role>> FileEntry::Roles(std::string_view key) const {
  const yaml::Node* const value = node_.Find(key);
  if (value == nullptr) return Error({}, Format("expected a value of '{}', saw none", key));
  if (value->kind != yaml::Node::Kind::kList || value->items.empty())
    return Error(key, "expected a list of roles, saw " + yaml::Seen(*value));
  std::vector<std::string> names;
  for (const yaml::Node& item : value->items) {
    if (item.kind != yaml::Node::Kind::kText)
      return Error(key, "expected a list of roles, saw " + yaml::Seen(item));
    names.push_back(item.text);
  }
  auto roles = ParseRoles(names);
  if (!roles.ok()) return Error(key, roles.status().message());
  return roles;
}

Result<std::vector<std::uint32_t>> FileEntry::Numbers(std::string_view key) const {
  const yaml::Node* const value = node_.Find(key);
  if (value == nullptr) return Error({}, Format("expected a value of '{}', saw none", key));
  if (value->kind != yaml::Node::Kind::kList || value->items.empty())
    return Error(key, "expected a list of numbers, saw " + yaml::Seen(*value));
  std::vector<std::uint32_t> numbers;
  for (const yaml::Node& item : value->items) {
    const auto number = ParseNumber<std::uint32_t>(item.text);
    if (item.kind != yaml::Node::Kind::kText || !number.ok())
      return Error(key, "expected a list of numbers, saw " + yaml::Seen(item));
    numbers.push_back(*number);
  }
  return numbers;
}

Status ReadEntries(std::string_view yaml, std::string_view file,
                   const std::function<Status(const FileEntry&)>& read) {
  auto parsed = yaml::Parse(yaml, {.bytes = kAccessFileBytesMax, .nodes = 50'000, .depth = 8});
  if (auto* const problem = std::get_if<yaml::Problem>(&parsed)) {
    problem->file = file;
    return {Code::kInvalidArgument, ToString(*problem)};
  }
  const auto& list = std::get<yaml::Node>(parsed);
  if (list.kind == yaml::Node::Kind::kNothing) return {};
  if (list.kind != yaml::Node::Kind::kList)
    return ErrorAt(file, list.position, "expected a list of entries, saw " + yaml::Seen(list));
  if (list.items.size() > kAccessEntriesMax)
    return ErrorAt(
        file, list.position,
        Format("expected at most {} entries, saw {}", kAccessEntriesMax, list.items.size()));
  for (const yaml::Node& item : list.items) {
    if (item.kind != yaml::Node::Kind::kMap)
      return ErrorAt(file, item.position, "expected keys and values, saw " + yaml::Seen(item));
    RETURN_IF_ERROR(read(FileEntry(item, file)));
  }
  return {};
}

}  // namespace fabric::access
