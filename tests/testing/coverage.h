// Coverage gaps as texts, for matchers.
#pragma once

#include <string>
#include <vector>

#include "proto/coverage.h"

namespace fabric::testing {

// "n4/rxe0/1: port is DOWN" for each gap.
template <class Gaps>
std::vector<std::string> Texts(const Gaps& gaps) {
  std::vector<std::string> texts;
  for (const v1::CoverageGap& gap : gaps) texts.push_back(ToString(gap));
  return texts;
}

}  // namespace fabric::testing
