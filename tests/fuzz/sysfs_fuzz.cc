// Content of an attribute as text and as number, and as a path within a captured tree.
#include <fcntl.h>

#include <string>
#include <string_view>

#include "agents/host/printable.h"
#include "agents/host/resolve.h"
#include "base/text.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

namespace {

// Printing a number and reading it back must give the number.
template <class Integer>
void TryNumber(std::string_view text) {
  const auto number = fabric::ParseNumber<Integer>(text);
  if (!number.ok()) return;
  const auto again = fabric::ParseNumber<Integer>(fabric::Format("{}", *number));
  Check(again.ok() && *again == *number, "a number survives printing");
}

void TryText(std::string_view bytes) {
  const auto text = fabric::host::ParseAttribute(bytes);
  Check(text.ok() == fabric::host::IsText(bytes), "what is text is an attribute");
  if (!text.ok()) return;
  Check(text->empty() || std::string_view(" \t\r\n").find(text->back()) == std::string_view::npos,
        "no blank at the end");
  Check(*fabric::host::ParseAttribute(*text) == *text, "parsing again changes nothing");
}

// No outcome leads upwards, whatever the path. Any folder will do as root.
void TryPath(std::string_view path) {
  static const fabric::host::Fd root(::open("/usr", O_PATH | O_DIRECTORY));
  const auto resolved = fabric::host::ResolveInRoot(root.get(), path, true, "path");
  if (!resolved.ok()) return;
  for (const std::string_view part : fabric::Split(*resolved, '/'))
    Check(part != ".." && !part.empty(), "a resolved path only goes down");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  TryText(bytes);
  const std::string_view trimmed = fabric::Trim(bytes);
  TryNumber<std::int8_t>(trimmed);
  TryNumber<std::int32_t>(trimmed);
  TryNumber<std::uint64_t>(trimmed);
  (void)fabric::ParseNumber<std::uint16_t>(trimmed, 16).ok();
  TryPath(bytes);
  return 0;
}
