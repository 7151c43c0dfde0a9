// What a profile says of where ports are in the fabric. Pure.
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

// Where a port is. Empty: not known.
struct Site {
  std::string leaf;  // Name of its leaf switch
  std::string pod;

  friend bool operator==(const Site&, const Site&) = default;
};

// The places of a profile and of all that it inherits. A value; the default one knows nothing.
class Places {
 public:
  // As Profile::Make().
  static Result<Places> Make(const v1::Profile& profile, std::span<const v1::Profile> known);

  bool empty() const { return places_.empty(); }
  // `heard` is the switch that the port hears itself, empty when it hears none: what the profile
  // says of its leaf counts only then.
  Site Of(const Traits& traits, std::string_view heard) const;

 private:
  std::vector<v1::Place> places_;  // Of the inherited profiles first
};

// Those of the profile that LoadProfile() takes. Without a name nothing is known.
Result<Places> LoadPlaces(const std::string& name, const ReadText& read);

}  // namespace fabric::profile
