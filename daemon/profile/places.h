// Leaf switch and pod of ports, as a profile states them. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/profile/profile.h"
#include "daemon/profile/profile_yaml.h"
#include "fabric/v1/profile.pb.h"

namespace fabric::profile {

// Location of a port. Empty: not known.
struct Site {
  std::string leaf;  // Name of the leaf switch
  std::string pod;

  friend bool operator==(const Site&, const Site&) = default;
};

// The places of a profile and its ancestors. A value; empty by default.
class Places {
 public:
  // As Profile::Make().
  static Result<Places> Make(const v1::Profile& profile, std::span<const v1::Profile> known);

  bool empty() const { return places_.empty(); }
  // `leaf`: the leaf switch if known from another source; takes precedence over the profile's.
  Site Of(const Traits& traits, std::string_view leaf) const;

 private:
  std::vector<v1::Place> places_;  // Those of the oldest ancestor first
};

// The places of the profile that LoadProfile() loads. Empty for an empty name.
Result<Places> LoadPlaces(const std::string& name, const ReadText& read);

}  // namespace fabric::profile
