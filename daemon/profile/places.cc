#include "daemon/profile/places.h"

#include "daemon/profile/inheritance.h"

namespace fabric::profile {

Result<Places> Places::Make(const v1::Profile& profile, std::span<const v1::Profile> known) {
  ASSIGN_OR_RETURN(const std::vector<const v1::Profile*> chain, InheritanceChain(profile, known));
  Places made;
  for (const v1::Profile* const each : chain)
    made.places_.insert(made.places_.end(), each->places().begin(), each->places().end());
  return made;
}

Site Places::Of(const Traits& traits, std::string_view leaf) const {
  Site site{.leaf = std::string(leaf), .pod = {}};
  for (const v1::Place& place : places_)
    if (leaf.empty() && !place.leaf().empty() && Matches(place.where(), traits))
      site.leaf = place.leaf();
  for (const v1::Place& place : places_)
    if (!place.pod().empty() && MatchesAny(place.leaves(), site.leaf) &&
        Matches(place.where(), traits))
      site.pod = place.pod();
  return site;
}

}  // namespace fabric::profile
