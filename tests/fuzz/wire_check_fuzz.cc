// Encoded messages of an agent: the check before decoding is never wrong about what decoding takes,
// and times out of range do not survive.
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <string_view>

#include "fabric/v1/agent.pb.h"
#include "proto/json.h"
#include "proto/timestamps.h"
#include "proto/wire_check.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fabric;
  google::protobuf::SetLogHandler(nullptr);
  static const WireCheck check(*v1::AgentMessage::descriptor(), BoundOf("agent_message_bytes"),
                               BoundOf("agent_message_memory"));
  const std::string_view wire(reinterpret_cast<const char*>(data), size);
  const WireCheckResult found = check.Check(wire);
  v1::AgentMessage message;
  if (found.excess || !message.ParseFromArray(data, static_cast<int>(size))) return 0;
  Check(message.SpaceUsedLong() <= 4 * found.memory + 4096, "memory is not underestimated");
  const bool invalid = ClearInvalidTimestamps(message) > 0;
  Check(!invalid || found.invalid_timestamp, "a time out of range is found");
  Check(ToJson(message, false) != "{}" || message.body_case() == 0, "the message can be printed");
  return 0;
}
