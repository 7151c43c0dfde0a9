#include "ctl/profiles.h"

#include "base/input.h"
#include "daemon/profile/profile_yaml.h"

namespace fabric::ctl {
namespace {

Result<std::string> Read(const std::string& path) {
  return ReadFile(path, profile::kFileBytesMax);
}

}  // namespace

Result<profile::Profile> FindProfile(const std::string& name) {
  return profile::LoadProfile(name, Read);
}

Result<profile::Places> FindPlaces(const std::string& name) {
  return profile::LoadPlaces(name, Read);
}

Result<v1::Profile> FindProfileText(const std::string& name) {
  return profile::FindProfile(name, Read);
}

}  // namespace fabric::ctl
