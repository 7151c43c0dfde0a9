// Lines of the kernel's log, which may quote what others have sent.
#include "agents/host/kernel_log/kernel_log_text.h"
#include "agents/host/printable.h"
#include "base/text.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fabric;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  host::KernelLogDigest digest;
  if (const auto record = host::ParseKmsgRecord(text); record.ok()) digest.Add(*record);
  for (const std::string_view each : Split(text, '\n'))
    if (const auto line = host::ParseLogLine(each)) {
      Check(host::IsText(line->text), "a line is text");
      digest.Add(*line);
      digest.Add(*line);
    }
  Check(digest.Entries().size() <= host::KernelLogDigest::kKindsMax, "the digest is bounded");
  for (const host::KernelLogEntry& entry : digest.Entries()) Check(entry.count > 0, "it was seen");
  return 0;
}
