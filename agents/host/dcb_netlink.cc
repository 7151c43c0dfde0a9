#include "agents/host/dcb_netlink.h"

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>
#include <string_view>

#include "agents/host/netlink_client.h"
#include "agents/host/netlink_reader.h"
#include "base/text.h"

namespace fabric::host {
namespace {

// The second kind of entry in the table of applications, for selectors that are not IEEE's (PCP).
// Younger than Debian's header: DCB_ATTR_DCB_APP.
constexpr int kAttrDcbApp = 2;

template <std::size_t N>
std::array<std::uint8_t, N> Copy(const std::uint8_t (&from)[N]) {
  std::array<std::uint8_t, N> to;
  std::copy(std::begin(from), std::end(from), to.begin());
  return to;
}

Status TakePfc(Bytes payload, std::optional<DcbPfc>& to) {
  ASSIGN_OR_RETURN(const auto from, ReadStruct<ieee_pfc>(payload, "PFC"));
  DcbPfc& pfc = to.emplace();
  pfc.capability = from.pfc_cap;
  pfc.enabled_mask = from.pfc_en;
  pfc.mbc = from.mbc != 0;
  pfc.delay = from.delay;
  std::copy(std::begin(from.requests), std::end(from.requests), pfc.requests.begin());
  std::copy(std::begin(from.indications), std::end(from.indications), pfc.indications.begin());
  return {};
}

Status TakeEts(Bytes payload, std::optional<DcbEts>& to) {
  ASSIGN_OR_RETURN(const auto from, ReadStruct<ieee_ets>(payload, "ETS"));
  to = DcbEts{.willing = from.willing != 0,
              .capability = from.ets_cap,
              .tc_tx_bandwidth_percent = Copy(from.tc_tx_bw),
              .tc_algorithm = Copy(from.tc_tsa),
              .priority_to_tc = Copy(from.prio_tc)};
  return {};
}

Status TakeApps(Bytes payload, std::optional<std::vector<DcbApp>>& to) {
  std::vector<DcbApp>& apps = to.emplace();
  return ForEachAttribute(payload, [&](const NetlinkAttribute& attribute) -> Status {
    if (attribute.type != DCB_ATTR_IEEE_APP && attribute.type != kAttrDcbApp) return {};
    ASSIGN_OR_RETURN(const auto from, ReadStruct<dcb_app>(attribute.payload, "an application"));
    apps.push_back(
        {.selector = from.selector, .priority = from.priority, .protocol = from.protocol});
    return {};
  });
}

// Calls `each` for the attributes of the one answer to `command`.
template <class Each>
Status ForEachDcbAttribute(Bytes datagram, std::uint8_t command, const Each& each) {
  bool answered = false;
  RETURN_IF_ERROR(ForEachReply(datagram, RTM_GETDCB, [&](Bytes message) -> Status {
    ASSIGN_OR_RETURN(const auto header, ReadStruct<dcbmsg>(message, "DCB header"));
    if (header.cmd != command)
      return {Code::kInvalidArgument,
              Format("netlink: expected DCB command {}, saw {}", command, header.cmd)};
    answered = true;
    return ForEachAttribute(message.subspan(sizeof(dcbmsg)), each);
  }));
  return answered ? Status() : Status(Code::kInvalidArgument, "netlink: no answer about DCB");
}

class LiveDcbNetlink final : public DcbNetlink {
 public:
  explicit LiveDcbNetlink(NetlinkClient client) : client_(std::move(client)) {}

  Result<DcbIeee> Ieee(const std::string& netdev) override {
    return Answer(netdev, DCB_CMD_IEEE_GET, ParseDcbIeee);
  }
  Result<std::uint8_t> Dcbx(const std::string& netdev) override {
    return Answer(netdev, DCB_CMD_GDCBX, ParseDcbx);
  }

 private:
  template <class T>
  Result<T> Answer(const std::string& netdev, std::uint8_t command, Result<T> (*parse)(Bytes)) {
    const std::string doing = "asking for DCB of " + netdev;
    if (netdev.empty() || netdev.size() >= IFNAMSIZ)
      return Status(Code::kNotFound, doing + ": no netdev can have this name");
    NetlinkRequest request(RTM_GETDCB, 0);
    request.Header(dcbmsg{.dcb_family = AF_UNSPEC, .cmd = command, .dcb_pad = 0})
        .Text(DCB_ATTR_IFNAME, netdev);
    const Result<Bytes> reply = client_.Ask(request);
    if (!reply.ok()) return reply.status().In(doing);
    Result<T> parsed = parse(*reply);
    if (!parsed.ok()) return parsed.status().In(doing);
    return parsed;
  }

  NetlinkClient client_;
};

class CapturedDcbNetlink final : public DcbNetlink {
 public:
  Result<DcbIeee> Ieee(const std::string&) override { return Refusal(); }
  Result<std::uint8_t> Dcbx(const std::string&) override { return Refusal(); }

 private:
  static Status Refusal() { return {Code::kUnimplemented, "DCB netlink needs the live machine"}; }
};

}  // namespace

Result<DcbIeee> ParseDcbIeee(Bytes datagram) {
  DcbIeee ieee;
  const auto take_object = [&](const NetlinkAttribute& object) -> Status {
    switch (object.type) {
      case DCB_ATTR_IEEE_ETS: return TakeEts(object.payload, ieee.ets);
      case DCB_ATTR_IEEE_PFC: return TakePfc(object.payload, ieee.pfc);
      case DCB_ATTR_IEEE_APP_TABLE: return TakeApps(object.payload, ieee.app);
      default: return {};
    }
  };
  RETURN_IF_ERROR(ForEachDcbAttribute(datagram, DCB_CMD_IEEE_GET,
                                      [&](const NetlinkAttribute& attribute) -> Status {
                                        if (attribute.type != DCB_ATTR_IEEE) return {};
                                        return ForEachAttribute(attribute.payload, take_object);
                                      }));
  return ieee;
}

Result<std::uint8_t> ParseDcbx(Bytes datagram) {
  std::optional<std::uint8_t> dcbx;
  RETURN_IF_ERROR(ForEachDcbAttribute(
      datagram, DCB_CMD_GDCBX, [&](const NetlinkAttribute& attribute) -> Status {
        if (attribute.type != DCB_ATTR_DCBX) return {};
        return ReadInteger<std::uint8_t>(attribute, "DCBX mode", dcbx);
      }));
  if (!dcbx) return Status(Code::kInvalidArgument, "netlink: an answer without DCBX mode");
  return *dcbx;
}

std::unique_ptr<DcbNetlink> OpenDcbNetlink() {
  return OpenDcbNetlink(NetlinkClient([] { return NetlinkSocket::Open(NETLINK_ROUTE); }));
}

std::unique_ptr<DcbNetlink> OpenDcbNetlink(NetlinkClient client) {
  return std::make_unique<LiveDcbNetlink>(std::move(client));
}

std::unique_ptr<DcbNetlink> NoDcbNetlink() {
  return std::make_unique<CapturedDcbNetlink>();
}

}  // namespace fabric::host
