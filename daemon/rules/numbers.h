// Numbers of messages as rules of agreement take them: agreement.h.
#pragma once

#include <optional>

#include "daemon/rules/member.h"

namespace fabric::rules {

// A field of a message; nothing where it is absent.
template <auto kHas, auto kGet, class Message>
std::optional<Value> NumberOf(const Message& message) {
  if (!(message.*kHas)()) return {};
  return Value{(message.*kGet)()};
}

}  // namespace fabric::rules
