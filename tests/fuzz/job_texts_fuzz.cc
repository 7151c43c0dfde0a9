// Files about a process and its cgroup, and patterns for several files.
#include <algorithm>

#include "agents/inspect/job/job_settings.h"
#include "agents/inspect/job/job_view.h"
#include "base/ids.h"
#include "proto/gaps.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fabric;
  using namespace fabric::inspect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto who = ParseCredentials(text); who.ok()) {
    constexpr std::uint32_t kOpen = 0666;
    const host::FileInfo file{
        .mode = kOpen, .uid = 0, .gid = 0, .inode = 1, .device_major = 231, .device_minor = 192};
    Check(MayReadWrite(*who, file), "a file that is open to all is open");
  }
  (void)DeviceListed(text, 231, 192);
  const std::string uid = PodUid(text);
  constexpr std::size_t kUid = 36;
  constexpr std::size_t kHash = 32;  // Of pods that come from a file
  Check(uid.empty() || uid.size() == kUid || uid.size() == kHash, "a UID has its length");
  if (const auto address = ParsePciAddress(text); address.ok())
    Check(*ParsePciAddress(ToString(*address)) == *address, "an address survives printing");
  v1::Gap gap;
  if (std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }))
    gap.set_path(std::string(text));
  Check(gap.path().empty() || gap.path().find_first_not_of("/ ") == std::string::npos ||
            Covers(gap, gap.path()),
        "a gap covers its own path");
  Check(!Covers(gap, "sys/class/net") || Touches(gap, "sys/class/net"), "to cover is to touch");
  for (const auto& variables : {ParseEnvironment(text), ParseNcclConf(text)})
    for (const v1::JobVariable& variable : variables)
      Check(variable.name() != "PATH" && variable.value().size() <= 512, "a listed variable");
  for (const v1::JobLibrary& library : LibrariesOfMaps(text))
    Check(library.path().starts_with('/'), "a mapped library has a path");
  (void)LibraryOfFile(text);
  (void)VersionOfPackage(text);
  return 0;
}
