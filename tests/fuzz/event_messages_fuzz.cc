// Notifications of the kernel: whatever the bytes are, no read beyond them, and only kinds that
// there are.
#include "agents/host/netlink/event_messages.h"

#include <span>

#include "agents/host/verbs/verbs_events.h"
#include "tests/fuzz/fuzz.h"

using fabric::Result;
using fabric::fuzz::Check;
using fabric::host::EventSet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto datagram = std::as_bytes(std::span(data, size));
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<EventSet> parsed[] = {
      fabric::host::ParseRouteEvents(datagram), fabric::host::ParseRdmaEvents(datagram),
      fabric::host::ParseKernelEvent(text), fabric::host::ParseVerbsEvents(datagram)};
  for (const Result<EventSet>& events : parsed)
    Check(!events.ok() || (*events & EventSet::All()) == *events, "the kinds are known ones");
  (void)fabric::host::ParseMonitorMode(datagram).ok();
  return 0;
}
