// Files about the machine around the fabric.
#include "agents/inspect/parse/host_texts.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fabric;
  using namespace fabric::inspect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)ParseOsRelease(text);
  for (const ModuleLine& module : ParseProcModules(text)) {
    Check(!module.name.empty(), "a module has a name");
    (void)ModuleMatters(module.name);
  }
  (void)ParseProcLimits(text).ok();
  std::optional<v1::MemoryLimit> limit;
  ApplyLimitsConf(text, "a", limit);
  ApplySystemdConf(text, "b", true, limit);
  Check(!limit || !limit->unlimited() || (!limit->has_soft_bytes() && !limit->has_hard_bytes()),
        "unlimited has no bytes");
  Check(VersionOfOfedInfo(text).size() <= size, "a version comes from the input");
  (void)CountOfList(text).ok();
  (void)MeminfoBytes(text, "MemTotal");
  (void)CommandLineValue(text, "iommu");
  if (const auto path = CgroupPath(text, "")) Check(path->starts_with('/'), "a path is absolute");
  (void)HypervisorOfDmi(text, text);
  (void)HypervisorFlag(text);
  return 0;
}
