// Events of the controller as log records of OTLP. Pure.
#pragma once

#include <cstddef>

#include "base/clock.h"
#include "fabric/v1/fabric.pb.h"
#include "opentelemetry/proto/logs/v1/logs.pb.h"

namespace fabric::otlp {

using LogRecord = opentelemetry::proto::logs::v1::LogRecord;

// More than any record has: texts are cut.
inline constexpr std::size_t kRecordBytesMax = 16 << 10;

// A gap is a record too: its attribute fabric.missed is the number of events, if it is known.
LogRecord RecordOf(const v1::Event& event, WallTime now);

}  // namespace fabric::otlp
