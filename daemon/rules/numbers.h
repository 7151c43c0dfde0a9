// Accessors of numeric message fields for equality rules.
#pragma once

#include <optional>

#include "daemon/rules/member.h"

namespace fabric::rules {

// A field of a message; no value where it is absent.
template <auto kHas, auto kGet, class Message>
std::optional<Value> NumberOf(const Message& message) {
  if (!(message.*kHas)()) return {};
  return Value{(message.*kGet)()};
}

}  // namespace fabric::rules
