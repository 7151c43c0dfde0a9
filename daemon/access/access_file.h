// Reader of the files of tokens and of role bindings: a YAML list with one map for each entry.
// Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/yaml.h"
#include "fabric/v1/access.pb.h"

namespace fabric::access {

inline constexpr std::size_t kAccessFileBytesMax = 1 << 20;
inline constexpr std::size_t kAccessEntriesMax = 1'000;

// One entry. Errors name the file, the position, what was expected and what was seen.
class FileEntry {
 public:
  FileEntry(const yaml::Node& node, std::string_view file) : node_(node), file_(file) {}

  // INVALID_ARGUMENT for keys that are not in `known`, and for repeated keys.
  Status CheckKeys(std::span<const std::string_view> known) const;
  Result<std::string> Text(std::string_view key) const;             // Must be there, not empty
  Result<std::vector<v1::Role>> Roles(std::string_view key) const;  // At least one
  Result<std::vector<std::uint32_t>> Numbers(std::string_view key) const;  // At least one
  bool Has(std::string_view key) const { return node_.Find(key) != nullptr; }

  // An error at the value of this key, or at the entry.
  Status Error(std::string_view key, std::string_view message) const;

 private:
  const yaml::Node& node_;
  std::string_view file_;
};

// Calls `read` for each entry of the list. An empty text has none. The first failure ends it.
Status ReadEntries(std::string_view yaml, std::string_view file,
                   const std::function<Status(const FileEntry&)>& read);

}  // namespace fabric::access
