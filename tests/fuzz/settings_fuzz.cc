// Configuration files: whatever they hold, they are read or refused in one line, and what was read
// and is printed reads back as the same.
#include "base/settings.h"
#include "daemon/config.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view yaml(reinterpret_cast<const char*>(data), size);
  fabric::Settings settings(fabric::ControllerSettings());
  const fabric::Status status = settings.ReadYaml(yaml, "f.yaml");
  if (!status.ok()) {
    Check(status.message().starts_with("f.yaml"), "an error names the file");
    Check(status.message().find('\n') == std::string::npos, "an error is one line");
    return 0;
  }
  const std::string printed = settings.Print();
  fabric::Settings again(fabric::ControllerSettings());
  const fabric::Status reread = again.ReadYaml(printed, "printed");
  Check(reread.ok(), reread.message().c_str());
  Check(again.Text("state") == settings.Text("state"), "a path survives printing");
  Check(again.Address("grpc") == settings.Address("grpc"), "an address survives printing");
  Check(again.Duration("lost-after") == settings.Duration("lost-after"), "a duration survives");
  return 0;
}
