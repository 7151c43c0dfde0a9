// Accessors of numeric message fields for equality rules.
#pragma once

#include <optional>

#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {

// A field of a message; no value where it is absent.
template <auto kHas, auto kGet, class Message>
std::optional<Value> NumberOf(const Message& message) {
  if (!(message.*kHas)()) return {};
  return Value{(message.*kGet)()};
}

// A field of the port's congestion control.
template <auto kHas, auto kGet>
std::optional<Value> CongestionNumber(const Member& member) {
  const v1::CongestionControl* const control = CongestionOf(*member.port);
  return control == nullptr ? std::nullopt : NumberOf<kHas, kGet>(*control);
}

}  // namespace fabric::rules
