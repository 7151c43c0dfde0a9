// Counter tables and samples as any agent may send them: no access beyond the table, nothing
// changed by what is refused, and never more counters than the table had.
//
// The input is a row of messages: a byte that tells a table (even) from a sample (odd), two bytes
// of length, and the message.
#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>

#include "daemon/fleet/counter_stream.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

namespace fabric::fleet {
namespace {

std::size_t Counters(const v1::NodeSnapshot& node) {
  std::size_t counters = 0;
  for (const v1::CounterSet& set : node.counters())
    counters += static_cast<std::size_t>(set.counters_size());
  return counters;
}

template <class Message>
void Take(const std::uint8_t* data, std::size_t size, CounterStream& stream,
          v1::NodeSnapshot& node) {
  Message message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return;
  const std::string before = node.SerializeAsString();
  const std::size_t counters = Counters(node);
  const Status status = stream.Take(message, node);
  if (!status.ok()) Check(node.SerializeAsString() == before, "what is refused changes nothing");
  if constexpr (std::is_same_v<Message, v1::CounterSample>)
    Check(Counters(node) <= counters, "a sample adds no counter");
}

}  // namespace
}  // namespace fabric::fleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fabric::fleet::CounterStream stream;
  fabric::v1::NodeSnapshot node;
  while (size >= 3) {
    const bool sample = data[0] % 2 != 0;
    const std::size_t length = std::min<std::size_t>(data[1] + data[2] * 256U, size - 3);
    data += 3;
    size -= 3;
    if (sample)
      fabric::fleet::Take<fabric::v1::CounterSample>(data, length, stream, node);
    else
      fabric::fleet::Take<fabric::v1::CounterTable>(data, length, stream, node);
    data += length;
    size -= length;
  }
  return 0;
}
