// Findings about the files of fabricd itself: new ones that it refuses, and certificates that
// expire. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

struct RefusedFile {
  std::string setting;  // "tokens"
  std::string reason;   // One line: path, expected, seen
  bool operator==(const RefusedFile&) const = default;
};

struct ExpiringFile {
  std::string what;  // "certificate of fabricd"
  std::string path;
  WallTime not_after;
  bool operator==(const ExpiringFile&) const = default;
};

struct ControllerFiles {
  std::vector<RefusedFile> refused;  // The previous content is in use.
  std::vector<ExpiringFile> expiring;
  bool operator==(const ControllerFiles&) const = default;
};

std::vector<v1::Finding> FindingsOf(const ControllerFiles& files);

}  // namespace fabric::rules
