#include "proto/gaps.h"

#include "base/text.h"

namespace fabric {
namespace {

constexpr std::string_view kSeparators = "/ ";

// Removes and returns the first name of a path ("sys/class/net") or of words ("netlink dcb eth0").
std::string_view TakeName(std::string_view& path) {
  const std::size_t end = std::min(path.find_first_of(kSeparators), path.size());
  const std::string_view name = path.substr(0, end);
  path.remove_prefix(std::min(end + 1, path.size()));
  return name;
}

// Removes the common names at the start of both.
void TakeCommon(std::string_view& pattern, std::string_view& path) {
  while (!pattern.empty() && !path.empty()) {
    std::string_view rest = pattern;
    std::string_view rest_of_path = path;
    const std::string_view wanted = TakeName(rest);
    const std::string_view name = TakeName(rest_of_path);
    if (wanted != "*" && wanted != name) return;
    pattern = rest;
    path = rest_of_path;
  }
}

}  // namespace

bool Covers(const v1::Gap& gap, std::string_view path) {
  std::string_view pattern = gap.path();
  TakeCommon(pattern, path);
  return !gap.path().empty() && pattern.empty();
}

bool Touches(const v1::Gap& gap, std::string_view path) {
  std::string_view pattern = gap.path();
  TakeCommon(pattern, path);
  return !gap.path().empty() && (pattern.empty() || path.empty());
}

}  // namespace fabric
