// Parts of subnet snapshots: any text arrives as it was sent, and frames and parts of a hostile
// agent are refused or decoded within the bounds.
#include <google/protobuf/stubs/logging.h>

#include <string>
#include <string_view>

#include "subnet/checks/check.h"
#include "subnet/files/formats.h"
#include "subnet/wire/snapshot_parts.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

namespace {

void CheckRoundTrip(std::string_view text, std::string_view prefix) {
  const auto frame = fabric::subnet::Compress(text, prefix);
  Check(frame.ok(), "a small text can be compressed");
  fabric::subnet::Assembly assembly;
  for (std::uint32_t i = 0; i < fabric::subnet::PartsOf(*frame); ++i)
    Check(assembly.Add(fabric::subnet::PartOf(*frame, i)).ok(), "parts in order are taken");
  const auto back = fabric::subnet::Decompress(assembly.Take(), prefix);
  Check(back.ok() && *back == text, "the text arrives as it was sent");
}

void DecodeHostile(std::string_view bytes) {
  fabric::v1::SubnetPart part;
  fabric::subnet::Assembly assembly;
  if (part.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) (void)assembly.Add(part);
  fabric::subnet::Frame frame{.data = std::string(bytes), .size = 4 * bytes.size()};
  (void)fabric::subnet::Decompress(frame, bytes);
  fabric::v1::SubnetSnapshot snapshot;
  if (!snapshot.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  fabric::subnet::Builder builder;
  fabric::subnet::AddSnapshot("fuzz", snapshot, builder);
  (void)fabric::subnet::Evaluate(builder.Finish(), nullptr, {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  google::protobuf::SetLogHandler(nullptr);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string_view prefix = text.substr(0, text.size() * data[0] / 255);
  CheckRoundTrip(text, prefix);
  DecodeHostile(text);
  return 0;
}
