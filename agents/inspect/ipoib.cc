#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/parse.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kIpoibName = "ipoib";
constexpr std::uint32_t kInfinibandType = 32;  // ARPHRD_INFINIBAND

Result<std::uint32_t> ParsePartition(std::string_view text) {
  const std::string_view number = Trim(text);
  Result<std::uint32_t> pkey = ParseNumber<std::uint32_t>(number, 16);
  if (!pkey.ok() || *pkey > 0xffff)
    return Status(Code::kInvalidArgument, "expected a P_Key, such as 0xffff, saw " + Quoted(text));
  return pkey;
}

Result<std::string> ParseMode(std::string_view text) {
  if (text == "datagram" || text == "connected") return std::string(text);
  return Status(Code::kInvalidArgument, "expected datagram or connected, saw " + Quoted(text));
}

// drivers/infiniband/ulp/ipoib: both files exist for all IPoIB netdevs. Captures may lack them.
Status InspectIpoib(const Host& host, v1::NodeSnapshot& out) {
  for (v1::NetInterface& netdev : *out.mutable_net_interfaces()) {
    if (netdev.hardware_type() != kInfinibandType) continue;
    const Gaps gaps{.snapshot = out, .inspector = kIpoibName, .subject = netdev.name()};
    const auto files = Attributes::Open(host, "sys/class/net/" + netdev.name(), gaps);
    if (!files.ok()) continue;
    const Absence absence = host.captured ? Absence::kMissingOrEmptyIsFine : Absence::kIsGap;
    if (auto mode = files->Parsed("mode", ParseMode, absence))
      netdev.set_ipoib_mode(*std::move(mode));
    if (const auto pkey = files->Parsed("pkey", ParsePartition, absence))
      netdev.set_ipoib_pkey(*pkey);
  }
  return {};
}

}  // namespace

extern const Inspector ipoib = {
    .name = kIpoibName,
    .doc = "Mode and partition of IPoIB netdevs.",
    .inspect = InspectIpoib,
};

}  // namespace fabric::inspect
