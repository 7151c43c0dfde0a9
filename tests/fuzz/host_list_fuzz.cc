// Lists of nodes: whatever stands there, it is read or refused in one line, and what was read is
// made of names that read back as themselves.
#include "ctl/host_list.h"

#include "base/text.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto list = fabric::ctl::ParseHostList({reinterpret_cast<const char*>(data), size});
  if (!list.ok()) {
    Check(list.status().message().find('\n') == std::string::npos, "an error is one line");
    return 0;
  }
  Check(!list->empty() && list->size() <= fabric::ctl::kHostsMax, "a list has its bounds");
  const auto again = fabric::ctl::ParseHostList(fabric::Join(*list, ","));
  Check(again.ok() && *again == *list, "names read back as themselves");
  return 0;
}
