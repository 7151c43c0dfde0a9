#include <string_view>
#include <utility>

#include "daemon/profile/profile_yaml.h"

namespace fabric::profile {

extern const std::vector<std::pair<std::string_view, std::string_view>> kShippedTexts;

const std::vector<v1::Profile>& ShippedProfiles() {
  static const std::vector<v1::Profile> kProfiles = [] {
    std::vector<v1::Profile> all;
    for (const auto& [file, text] : kShippedTexts) {
      auto profiles = ParseProfiles(text, file);
      // A test reads them all.
      if (!profiles.ok()) continue;
      for (v1::Profile& profile : *profiles) all.push_back(std::move(profile));
    }
    return all;
  }();
  return kProfiles;
}

}  // namespace fabric::profile
