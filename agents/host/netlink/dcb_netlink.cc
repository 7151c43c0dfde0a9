#include "agents/host/netlink/dcb_netlink.h"

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>
#include <string_view>

#include "agents/host/netlink/netlink_client.h"
#include "agents/host/netlink/netlink_reader.h"
#include "base/text.h"

namespace fabric::host {
namespace {

// The second kind of entry in the table of applications, for selectors that are not IEEE's (PCP).
// Younger than Debian's header: DCB_ATTR_DCB_APP.
constexpr int kAttrDcbApp = 2;
constexpr int kAttrAppTrustTable = 11;  // DCB_ATTR_DCB_APP_TRUST_TABLE, likewise

// Selectors of the two dialects: IEEE_8021QAZ_APP_SEL_* and DCB_APP_IDTYPE_*.
constexpr std::uint8_t kSelectorEthertype = 1;
constexpr std::uint8_t kSelectorAny = 4;
constexpr std::uint8_t kCeeEthertype = 0;
constexpr std::uint8_t kCeePortNumber = 1;

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

Status TakeMaxRates(Bytes payload, std::optional<std::array<std::uint64_t, 8>>& to) {
  ASSIGN_OR_RETURN(const auto from, ReadStruct<ieee_maxrate>(payload, "rate limits"));
  std::copy(std::begin(from.tc_maxrate), std::end(from.tc_maxrate), to.emplace().begin());
  return {};
}

Status TakeBuffers(Bytes payload, std::optional<DcbBuffers>& to) {
  ASSIGN_OR_RETURN(const auto from, ReadStruct<dcbnl_buffer>(payload, "buffers"));
  DcbBuffers& buffers = to.emplace();
  buffers.priority_to_buffer = Copy(from.prio2buffer);
  std::copy(std::begin(from.buffer_size), std::end(from.buffer_size), buffers.size_bytes.begin());
  buffers.total_bytes = from.total_size;
  return {};
}

Status TakeTrust(Bytes payload, std::optional<std::vector<std::uint8_t>>& to) {
  std::vector<std::uint8_t>& selectors = to.emplace();
  return ForEachAttribute(payload, [&](const NetlinkAttribute& attribute) -> Status {
    if (attribute.type != DCB_ATTR_IEEE_APP && attribute.type != kAttrDcbApp) return {};
    return ReadInteger<std::uint8_t>(attribute, "a trusted selector", selectors.emplace_back());
  });
}

// The attribute's type is DCB_PFC_UP_ATTR_0 and the priority; its value is not 0 where PFC is on
// in either direction.
Status TakeCeePfc(Bytes payload, std::optional<std::uint8_t>& to) {
  std::uint8_t& mask = to.emplace(std::uint8_t{0});
  return ForEachAttribute(payload, [&](const NetlinkAttribute& attribute) -> Status {
    if (attribute.type < DCB_PFC_UP_ATTR_0 || attribute.type > DCB_PFC_UP_ATTR_7) return {};
    std::uint8_t value = 0;
    RETURN_IF_ERROR(ReadInteger<std::uint8_t>(attribute, "PFC of a priority", value));
    if (value != 0)
      mask = static_cast<std::uint8_t>(mask | 1u << (attribute.type - DCB_PFC_UP_ATTR_0));
    return {};
  });
}

Status TakeCeeApps(Bytes payload, std::optional<std::vector<DcbApp>>& to) {
  std::vector<DcbApp>& apps = to.emplace();
  return ForEachAttribute(payload, [&](const NetlinkAttribute& attribute) -> Status {
    if (attribute.type != DCB_ATTR_CEE_APP) return {};
    ASSIGN_OR_RETURN(const auto from, ReadStruct<dcb_app>(attribute.payload, "an application"));
    if (from.selector != kCeeEthertype && from.selector != kCeePortNumber) return {};
    // CEE's priority is a mask of priorities.
    for (std::uint8_t priority = 0; priority < 8; ++priority)
      if ((from.priority >> priority & 1) != 0)
        apps.push_back(
            {.selector = from.selector == kCeeEthertype ? kSelectorEthertype : kSelectorAny,
             .priority = priority,
             .protocol = from.protocol});
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
  Result<DcbCee> Cee(const std::string& netdev) override {
    return Answer(netdev, DCB_CMD_CEE_GET, ParseDcbCee);
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
    return client_.Ask(request, doing, parse);
  }

  NetlinkClient client_;
};

class CapturedDcbNetlink final : public DcbNetlink {
 public:
  Result<DcbIeee> Ieee(const std::string&) override { return Refusal(); }
  Result<DcbCee> Cee(const std::string&) override { return Refusal(); }

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
      case DCB_ATTR_IEEE_MAXRATE: return TakeMaxRates(object.payload, ieee.max_rate_kbps);
      case DCB_ATTR_DCB_BUFFER: return TakeBuffers(object.payload, ieee.buffers);
      case kAttrAppTrustTable: return TakeTrust(object.payload, ieee.app_trust);
      case DCB_ATTR_IEEE_PEER_ETS: return TakeEts(object.payload, ieee.peer_ets);
      case DCB_ATTR_IEEE_PEER_PFC: return TakePfc(object.payload, ieee.peer_pfc);
      case DCB_ATTR_IEEE_PEER_APP: return TakeApps(object.payload, ieee.peer_app);
      default: return {};
    }
  };
  const auto take = [&](const NetlinkAttribute& attribute) -> Status {
    switch (attribute.type) {
      case DCB_ATTR_IEEE: return ForEachAttribute(attribute.payload, take_object);
      case DCB_ATTR_DCBX: return ReadInteger<std::uint8_t>(attribute, "DCBX mode", ieee.dcbx);
      default: return {};
    }
  };
  RETURN_IF_ERROR(ForEachDcbAttribute(datagram, DCB_CMD_IEEE_GET, take));
  return ieee;
}

Result<DcbCee> ParseDcbCee(Bytes datagram) {
  DcbCee cee;
  const auto take_object = [&](const NetlinkAttribute& object) -> Status {
    switch (object.type) {
      case DCB_ATTR_CEE_PFC: return TakeCeePfc(object.payload, cee.pfc_enabled_mask);
      case DCB_ATTR_CEE_APP_TABLE: return TakeCeeApps(object.payload, cee.app);
      default: return {};
    }
  };
  const auto take = [&](const NetlinkAttribute& attribute) -> Status {
    if (attribute.type != DCB_ATTR_CEE) return {};
    return ForEachAttribute(attribute.payload, take_object);
  };
  RETURN_IF_ERROR(ForEachDcbAttribute(datagram, DCB_CMD_CEE_GET, take));
  return cee;
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
