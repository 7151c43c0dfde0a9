// What a link partner sends, from its Ethernet header on.
#include "agents/host/lldp/lldp.h"
#include "agents/host/printable.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fabric;
  const std::span<const std::uint8_t> bytes(data, size);
  const std::size_t header = std::min<std::size_t>(size, 14);
  const Result<host::LldpFrame> frame = host::ParseLldpFrame(bytes.subspan(header));
  if (frame.ok()) {
    Check(frame->applications.size() <= size / 3, "entries come from the input");
    Check(host::IsText(frame->chassis_id) && host::IsText(frame->port_id), "ids are text");
    Check(!frame->system_name || host::IsText(*frame->system_name), "names are text");
    Check(!frame->pfc || frame->pfc->enabled_mask <= 0xff, "eight priorities");
  }
  host::LldpTable table;
  const std::vector<std::string> netdevs{"eth0"};
  table.Listen(netdevs, SteadyTime());
  table.Hear("eth0", bytes, Moment{});
  Check(table.View(SteadyTime()).neighbors.size() <= 1, "one frame has one sender");
  return 0;
}
