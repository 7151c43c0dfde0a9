// Cron expressions: any text is refused in one line, or has times that only increase.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/cron.h"
#include "tests/fuzz/fuzz.h"

using fabric::CronExpression;
using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto cron = CronExpression::Parse(text);
  if (!cron.ok()) {
    Check(cron.status().message().starts_with("cron: "), "the message names cron");
    Check(cron.status().message().find('\n') == std::string::npos, "one line");
    return 0;
  }
  fabric::WallTime after{};
  for (int n = 0; n < 3; ++n) {
    const auto next = cron->Next(after);
    if (!next) return 0;
    Check(*next > after, "times increase");
    after = *next;
  }
  return 0;
}
