// How fields of Expectations are read from ports and nodes: as the rules do that hold them against
// a profile, and a few more ways where no rule compares the like.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/rules/equality_rule.h"

namespace fabric::infer {

struct Reading {
  std::string_view field;  // Of Expectations
  const rules::EqualityRule* equality = nullptr;
};

// All of them, in the order of the fields. A field may have several.
std::vector<Reading> Readings();

// Expectations with the field alone, such that the rule expects `value`; nothing when no profile
// can say that. `ambiguous` is set when a profile can say it in several ways: then the value says
// too little.
std::optional<v1::Expectations> Saying(const Reading& reading, const rules::Value& value,
                                       bool* ambiguous = nullptr);

// The line of a profile that says it: "netdev_mtu_bytes: 9000".
std::string LineOf(const v1::Expectations& expect);

// Fields that nothing of a snapshot tells.
std::vector<std::string_view> NeverRead(const std::vector<Reading>& readings);

}  // namespace fabric::infer
