// Attributes and times of OTLP. Pure.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/version.h"
#include "opentelemetry/proto/common/v1/common.pb.h"

namespace fabric::otlp {

using Attributes = google::protobuf::RepeatedPtrField<opentelemetry::proto::common::v1::KeyValue>;

inline void AddText(std::string_view key, std::string_view value, Attributes& to) {
  auto& one = *to.Add();
  one.set_key(std::string(key));
  one.mutable_value()->set_string_value(std::string(value));
}

inline void AddNumber(std::string_view key, std::int64_t value, Attributes& to) {
  auto& one = *to.Add();
  one.set_key(std::string(key));
  one.mutable_value()->set_int_value(value);
}

inline void AddScope(opentelemetry::proto::common::v1::InstrumentationScope& scope) {
  scope.set_name("fabricd");
  scope.set_version(std::string(kVersion));
}

inline std::uint64_t UnixNanoseconds(WallTime time) {
  return static_cast<std::uint64_t>(time.time_since_epoch().count());
}

}  // namespace fabric::otlp
