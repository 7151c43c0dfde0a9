#include "ctl/profiles.h"

#include "base/input.h"
#include "daemon/profile/profile_yaml.h"

namespace fabric::ctl {
namespace {

Result<std::string> ReadProfileText(const std::string& path) {
  return ReadFile(path, profile::kFileBytesMax);
}

}  // namespace

Result<profile::Profile> FindProfile(const std::string& name) {
  return profile::LoadProfile(name, ReadProfileText);
}

Result<profile::Places> FindPlaces(const std::string& name) {
  return profile::LoadPlaces(name, ReadProfileText);
}

Result<v1::Profile> FindProfileText(const std::string& name) {
  return profile::FindProfile(name, ReadProfileText);
}

}  // namespace fabric::ctl
