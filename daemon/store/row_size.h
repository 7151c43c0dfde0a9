// Bounds of stored messages, checked before they are decoded. Pure.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string_view>

namespace fabric::store {

// Whether a row with an encoded message of this type takes too much memory: it was changed by hand,
// or is from a version without bounds.
bool IsTooLarge(std::string_view bytes, const google::protobuf::Descriptor& type);

}  // namespace fabric::store
