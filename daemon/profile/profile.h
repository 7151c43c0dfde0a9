// Profiles: what operators expect of their fabric. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "fabric/v1/profile.pb.h"

namespace fabric::profile {

// Overrides that hold for one port, in the order of the profile.
using Overrides = std::vector<std::size_t>;

// What selectors look at. Empty or absent: not known, which matches no pattern.
struct Traits {
  std::string_view node;
  std::string_view device;
  std::string_view netdev;
  std::string_view model;
  std::string_view driver;
  std::optional<Rail> rail;
};

// A profile with all that it inherits. A value; the default one expects nothing.
class Profile {
 public:
  Profile() = default;

  // `known`: where inherited profiles are looked for. NOT_FOUND for one that is not among them,
  // INVALID_ARGUMENT when a profile inherits from itself.
  static Result<Profile> Make(const v1::Profile& profile, std::span<const v1::Profile> known);

  const std::string& name() const { return name_; }  // Empty: nothing is expected.

  // Most ports of a fleet match the same overrides: what is expected of them is put together once.
  Overrides Match(const Traits& traits) const;
  v1::Expectations Expect(const Overrides& overrides) const;

 private:
  std::string name_;
  v1::Expectations expect_;
  std::vector<v1::ProfileOverride> overrides_;  // Of the inherited profiles first
};

// What `over` says takes the place of what `base` says, field by field.
void Override(v1::Expectations& base, const v1::Expectations& over);

// With * for any text and ? for any character.
bool MatchesPattern(std::string_view pattern, std::string_view text);

}  // namespace fabric::profile
