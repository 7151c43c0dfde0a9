// Readings: how each field of Expectations is read from ports and nodes. Most are the rules that
// compare ports with a profile; values.h adds the others.
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

// All readings, in the order of the fields. A field can have several.
std::vector<Reading> Readings();

// Expectations with only this field, set so that the rule expects `value`. Empty if no profile can
// express the value. Sets `ambiguous` if several values can, so that none can be chosen.
std::optional<v1::Expectations> ToExpectations(const Reading& reading, const rules::Value& value,
                                               bool* ambiguous = nullptr);

// The line of a profile: "netdev_mtu_bytes: 9000".
std::string LineOf(const v1::Expectations& expect);

// Fields that cannot be read from a snapshot.
std::vector<std::string_view> NeverRead(const std::vector<Reading>& readings);

}  // namespace fabric::infer
