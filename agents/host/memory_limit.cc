#include "agents/host/memory_limit.h"

#include <algorithm>
#include <string>

#include "base/text.h"

namespace fabric::host {
namespace {

// Version 1 writes the largest number of pages instead of "no limit".
constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 62;

// Of one line of /proc/self/cgroup: "0::/system.slice/x.service" or "5:memory:/system.slice".
struct Place {
  std::string folder;
  const char* file;
};
std::optional<Place> PlaceOf(std::string_view line) {
  const std::vector<std::string_view> parts = Split(line, ':');
  if (parts.size() < 3) return std::nullopt;
  const std::string path(Trim(line.substr(parts[0].size() + parts[1].size() + 2)));
  // "/.." is above the cgroup namespace of this process.
  if (!path.starts_with('/') || path.find("/..") != std::string::npos) return std::nullopt;
  if (parts[1].empty()) return Place{.folder = "sys/fs/cgroup" + path, .file = "memory.max"};
  if (parts[1] != "memory") return std::nullopt;
  return Place{.folder = "sys/fs/cgroup/memory" + path, .file = "memory.limit_in_bytes"};
}

}  // namespace

std::optional<std::uint64_t> MemoryLimit(const Dir& root) {
  const Result<std::string> text = root.Text("proc/self/cgroup");
  if (!text.ok()) return std::nullopt;
  std::uint64_t smallest = kUnlimited;
  for (const std::string_view line : Split(*text, '\n')) {
    auto place = PlaceOf(line);
    while (place && place->folder.size() > std::string_view("sys/fs").size()) {
      if (const auto limit = root.Text(place->folder + "/" + place->file); limit.ok())
        if (const auto bytes = ParseNumber<std::uint64_t>(Trim(*limit)); bytes.ok())
          smallest = std::min(smallest, *bytes);
      place->folder.resize(place->folder.find_last_of('/'));
    }
  }
  return smallest < kUnlimited ? std::optional(smallest) : std::nullopt;
}

}  // namespace fabric::host
