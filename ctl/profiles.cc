#include "ctl/profiles.h"

#include "ctl/files.h"
#include "daemon/profile/profile_yaml.h"

namespace fabric::ctl {
namespace {

Result<std::string> Read(const std::string& path) {
  constexpr std::size_t kBytesMax = std::size_t{4} << 20;
  return ReadFile(path, kBytesMax);
}

}  // namespace

Result<profile::Profile> FindProfile(const std::string& name) {
  return profile::LoadProfile(name, Read);
}

Result<v1::Profile> FindProfileText(const std::string& name) {
  return profile::FindProfile(name, Read);
}

}  // namespace fabric::ctl
