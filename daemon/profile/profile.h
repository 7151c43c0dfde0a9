// Profiles: the operator's expectations of the fabric, by node and port. Pure.
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

// Indexes of the overrides that apply to one port, in the order of the profile.
using Overrides = std::vector<std::size_t>;

// Properties that selectors match. Empty or absent: not known; matches no pattern.
struct Traits {
  std::string_view node;
  std::string_view device;
  std::string_view netdev;
  std::string_view model;
  std::string_view driver;
  std::optional<Rail> rail;
};

// A profile merged with its ancestors. A value; the default one has no expectations.
class Profile {
 public:
  Profile() = default;

  // `known`: the profiles that can be inherited. NOT_FOUND: the parent is not among them;
  // INVALID_ARGUMENT: a profile inherits from itself.
  static Result<Profile> Make(const v1::Profile& profile, std::span<const v1::Profile> known);

  const std::string& name() const { return name_; }  // Empty: no expectations

  // In two steps, because most ports match the same overrides and can share the result of Expect().
  Overrides Match(const Traits& traits) const;
  v1::Expectations Expect(const Overrides& overrides) const;

 private:
  std::string name_;
  v1::Expectations expect_;
  std::vector<v1::ProfileOverride> overrides_;  // Those of the oldest ancestor first
};

// Replaces the fields of `base` that `over` has. Lists are replaced as a whole.
void Override(v1::Expectations& base, const v1::Expectations& over);

// Glob pattern: * matches any text, ? any character.
bool MatchesPattern(std::string_view pattern, std::string_view text);

}  // namespace fabric::profile
