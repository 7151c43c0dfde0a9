// Effects of the remedies that tests of rules see, for docs/reference/REMEDIES.md.
#pragma once

#include <string>

#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// Call it with each finding that a test sees.
void NoteEffects(const v1::Finding& finding);

// The page, with the effects that were noted.
std::string EffectsPage();

}  // namespace fabric::rules
