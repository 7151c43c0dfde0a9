// Profiles, which people write.
#include <string_view>

#include "daemon/profile/profile.h"
#include "daemon/profile/profile_yaml.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view yaml(reinterpret_cast<const char*>(data), size);
  const auto profiles = fabric::profile::ParseProfiles(yaml, "file");
  if (!profiles.ok()) {
    Check(profiles.status().message().starts_with("file"), "a mistake has a place");
    return 0;
  }
  Check(!profiles->empty(), "a good file has a profile");
  for (const auto& profile : *profiles) {
    Check(!profile.name().empty(), "a profile has a name");
    (void)fabric::profile::Profile::Make(profile, *profiles).ok();
  }
  return 0;
}
