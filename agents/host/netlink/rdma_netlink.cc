#include "agents/host/netlink/rdma_netlink.h"

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <unistd.h>

#include <set>

#include "agents/host/netlink/netlink_client.h"
#include "agents/host/netlink/netlink_reader.h"
#include "agents/host/printable.h"
#include "base/text.h"

namespace fabric::host {
namespace {

int RdmaTypeOf(int command) {
  return RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
}

// Strings come from firmware as well: omits strings that are empty or not text.
void TakeText(const NetlinkAttribute& attribute, std::optional<std::string>& to) {
  const std::string_view text = ReadText(attribute);
  if (!text.empty() && IsText(text)) to = text;
}

Result<RdmaDeviceInfo> ParseDevice(Bytes message) {
  RdmaDeviceInfo device;
  std::optional<std::uint32_t> index;
  std::optional<std::string> name;
  RETURN_IF_ERROR(ForEachAttribute(message, [&](const NetlinkAttribute& attribute) -> Status {
    switch (attribute.type) {
      case RDMA_NLDEV_ATTR_DEV_INDEX:
        return ReadInteger<std::uint32_t>(attribute, "device index", index);
      case RDMA_NLDEV_ATTR_DEV_NAME: TakeText(attribute, name); return {};
      case RDMA_NLDEV_ATTR_PORT_INDEX:  // In an answer about a device: how many ports it has.
        return ReadInteger<std::uint32_t>(attribute, "number of ports", device.ports);
      case RDMA_NLDEV_ATTR_FW_VERSION: TakeText(attribute, device.firmware); return {};
      case RDMA_NLDEV_ATTR_NODE_GUID:
        return ReadInteger<std::uint64_t>(attribute, "node GUID", device.node_guid);
      case RDMA_NLDEV_ATTR_SYS_IMAGE_GUID:
        return ReadInteger<std::uint64_t>(attribute, "system image GUID", device.sys_image_guid);
      case RDMA_NLDEV_ATTR_DEV_NODE_TYPE:
        return ReadInteger<std::uint8_t>(attribute, "node type", device.node_type);
      case RDMA_NLDEV_ATTR_DEV_PROTOCOL: TakeText(attribute, device.protocol); return {};
      default: return {};
    }
  }));
  if (!index || !name)
    return Status(Code::kInvalidArgument, "netlink: an RDMA device without index or name");
  device.index = *index;
  device.name = *std::move(name);
  return device;
}

Result<RdmaLinkInfo> ParseLink(Bytes message) {
  RdmaLinkInfo link;
  std::optional<std::uint32_t> port;
  RETURN_IF_ERROR(ForEachAttribute(message, [&](const NetlinkAttribute& attribute) -> Status {
    switch (attribute.type) {
      case RDMA_NLDEV_ATTR_PORT_INDEX:
        return ReadInteger<std::uint32_t>(attribute, "port index", port);
      case RDMA_NLDEV_ATTR_PORT_STATE:
        return ReadInteger<std::uint8_t>(attribute, "port state", link.state);
      case RDMA_NLDEV_ATTR_PORT_PHYS_STATE:
        return ReadInteger<std::uint8_t>(attribute, "physical state", link.physical_state);
      case RDMA_NLDEV_ATTR_NDEV_INDEX:
        return ReadInteger<std::uint32_t>(attribute, "netdev index", link.netdev_index);
      case RDMA_NLDEV_ATTR_NDEV_NAME: TakeText(attribute, link.netdev_name); return {};
      case RDMA_NLDEV_ATTR_CAP_FLAGS:
        return ReadInteger<std::uint64_t>(attribute, "capability flags", link.capability_flags);
      case RDMA_NLDEV_ATTR_SUBNET_PREFIX:
        return ReadInteger<std::uint64_t>(attribute, "subnet prefix", link.subnet_prefix);
      case RDMA_NLDEV_ATTR_LID: return ReadInteger<std::uint32_t>(attribute, "LID", link.lid);
      case RDMA_NLDEV_ATTR_SM_LID:
        return ReadInteger<std::uint32_t>(attribute, "SM LID", link.sm_lid);
      case RDMA_NLDEV_ATTR_LMC: return ReadInteger<std::uint8_t>(attribute, "LMC", link.lmc);
      default: return {};
    }
  }));
  if (!port) return Status(Code::kInvalidArgument, "netlink: an RDMA link without port index");
  link.port = *port;
  return link;
}

Status ParseCounter(Bytes entry, std::vector<NamedCounter>& counters) {
  std::string_view name;
  std::optional<std::uint64_t> value;
  RETURN_IF_ERROR(ForEachAttribute(entry, [&](const NetlinkAttribute& attribute) -> Status {
    switch (attribute.type) {
      case RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME: name = ReadText(attribute); return {};
      case RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE:
        return ReadInteger<std::uint64_t>(attribute, "counter value", value);
      default: return {};
    }
  }));
  if (name.empty() || !IsText(name) || !value)
    return {Code::kInvalidArgument, "netlink: a counter without name or value"};
  counters.push_back({.name = std::string(name), .value = *value});
  return {};
}

class LiveRdmaNetlink final : public RdmaNetlink {
 public:
  explicit LiveRdmaNetlink(NetlinkClient client) : client_(std::move(client)) {}

  Result<std::vector<RdmaDeviceInfo>> Devices() override {
    NetlinkRequest request(RdmaTypeOf(RDMA_NLDEV_CMD_GET), NLM_F_DUMP);
    return client_.Ask(request, "listing RDMA devices", ParseRdmaDevices);
  }

  Result<std::vector<RdmaLinkInfo>> Links(std::uint32_t device_index) override {
    NetlinkRequest request(RdmaTypeOf(RDMA_NLDEV_CMD_PORT_GET), NLM_F_DUMP);
    request.Number(RDMA_NLDEV_ATTR_DEV_INDEX, device_index);
    return client_.Ask(request, "listing RDMA links", ParseRdmaLinks);
  }

  Result<std::vector<NamedCounter>> Counters(std::uint32_t device_index,
                                             std::uint32_t port) override {
    NetlinkRequest request(RdmaTypeOf(RDMA_NLDEV_CMD_STAT_GET), 0);
    request.Number(RDMA_NLDEV_ATTR_DEV_INDEX, device_index)
        .Number(RDMA_NLDEV_ATTR_PORT_INDEX, port);
    return client_.Ask(request, "reading RDMA counters", ParseRdmaCounters);
  }

  Result<RdmaSystemInfo> System() override {
    NetlinkRequest request(RdmaTypeOf(RDMA_NLDEV_CMD_SYS_GET), 0);
    return client_.Ask(request, "reading the RDMA system's settings", ParseRdmaSystem);
  }

  Result<std::vector<std::uint32_t>> Processes(std::uint32_t device_index) override {
    NetlinkRequest request(RdmaTypeOf(RDMA_NLDEV_CMD_RES_PD_GET), NLM_F_DUMP);
    request.Number(RDMA_NLDEV_ATTR_DEV_INDEX, device_index);
    return client_.Ask(request, "listing processes with RDMA", ParseRdmaProcesses);
  }

 private:
  NetlinkClient client_;
};

class CapturedRdmaNetlink final : public RdmaNetlink {
 public:
  Result<std::vector<RdmaDeviceInfo>> Devices() override { return Refusal(); }
  Result<std::vector<RdmaLinkInfo>> Links(std::uint32_t) override { return Refusal(); }
  Result<std::vector<NamedCounter>> Counters(std::uint32_t, std::uint32_t) override {
    return Refusal();
  }
  Result<RdmaSystemInfo> System() override { return Refusal(); }
  Result<std::vector<std::uint32_t>> Processes(std::uint32_t) override { return Refusal(); }

 private:
  static Status Refusal() { return {Code::kUnimplemented, "RDMA netlink needs the live machine"}; }
};

Result<NetlinkSocket> OpenSocket() {
  // Asking for the socket makes a kernel without RDMA look for the module, by a process each time,
  // and load it if it is there. An agent that watches changes nothing and does not do that.
  if (::access("/sys/class/infiniband", F_OK) != 0)
    return Status(Code::kUnimplemented, "this kernel has no RDMA (no /sys/class/infiniband)");
  return NetlinkSocket::Open(NETLINK_RDMA);
}

}  // namespace

Result<std::vector<RdmaDeviceInfo>> ParseRdmaDevices(Bytes datagram) {
  std::vector<RdmaDeviceInfo> devices;
  RETURN_IF_ERROR(
      ForEachReply(datagram, RdmaTypeOf(RDMA_NLDEV_CMD_GET), [&](Bytes message) -> Status {
        ASSIGN_OR_RETURN(RdmaDeviceInfo device, ParseDevice(message));
        devices.push_back(std::move(device));
        return {};
      }));
  return devices;
}

Result<std::vector<RdmaLinkInfo>> ParseRdmaLinks(Bytes datagram) {
  std::vector<RdmaLinkInfo> links;
  RETURN_IF_ERROR(
      ForEachReply(datagram, RdmaTypeOf(RDMA_NLDEV_CMD_PORT_GET), [&](Bytes message) -> Status {
        ASSIGN_OR_RETURN(RdmaLinkInfo link, ParseLink(message));
        links.push_back(std::move(link));
        return {};
      }));
  return links;
}

Result<std::vector<NamedCounter>> ParseRdmaCounters(Bytes datagram) {
  std::vector<NamedCounter> counters;
  bool table = false;
  const auto take_entry = [&](const NetlinkAttribute& entry) -> Status {
    if (entry.type != RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY) return {};
    return ParseCounter(entry.payload, counters);
  };
  const auto take_attribute = [&](const NetlinkAttribute& attribute) -> Status {
    if (attribute.type != RDMA_NLDEV_ATTR_STAT_HWCOUNTERS) return {};
    table = true;
    return ForEachAttribute(attribute.payload, take_entry);
  };
  RETURN_IF_ERROR(ForEachReply(datagram, RdmaTypeOf(RDMA_NLDEV_CMD_STAT_GET), [&](Bytes message) {
    return ForEachAttribute(message, take_attribute);
  }));
  if (!table) return Status(Code::kInvalidArgument, "netlink: an answer without RDMA counters");
  return counters;
}

Result<RdmaSystemInfo> ParseRdmaSystem(Bytes datagram) {
  RdmaSystemInfo system;
  const auto take = [&](const NetlinkAttribute& attribute) -> Status {
    if (attribute.type == RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK) {
      std::uint8_t copied = 0;
      RETURN_IF_ERROR(ReadInteger<std::uint8_t>(attribute, "copy on fork", copied));
      system.copy_on_fork = copied != 0;
      return {};
    }
    if (attribute.type != RDMA_NLDEV_SYS_ATTR_NETNS_MODE) return {};
    std::uint8_t mode = 0;
    RETURN_IF_ERROR(ReadInteger<std::uint8_t>(attribute, "namespace mode", mode));
    if (mode > 1)
      return {Code::kInvalidArgument,
              Format("netlink: expected a namespace mode of 0 or 1, saw {}", mode)};
    system.netns_shared = mode == 1;
    return {};
  };
  RETURN_IF_ERROR(ForEachReply(datagram, RdmaTypeOf(RDMA_NLDEV_CMD_SYS_GET),
                               [&](Bytes message) { return ForEachAttribute(message, take); }));
  return system;
}

Result<std::vector<std::uint32_t>> ParseRdmaProcesses(Bytes datagram) {
  std::set<std::uint32_t> pids;
  const auto take_value = [&](const NetlinkAttribute& attribute) -> Status {
    if (attribute.type != RDMA_NLDEV_ATTR_RES_PID) return {};
    std::uint32_t pid = 0;
    RETURN_IF_ERROR(ReadInteger<std::uint32_t>(attribute, "PID", pid));
    if (pid != 0) pids.insert(pid);
    return {};
  };
  const auto take_entry = [&](const NetlinkAttribute& entry) -> Status {
    if (entry.type != RDMA_NLDEV_ATTR_RES_PD_ENTRY) return {};
    return ForEachAttribute(entry.payload, take_value);
  };
  const auto take_table = [&](const NetlinkAttribute& table) -> Status {
    if (table.type != RDMA_NLDEV_ATTR_RES_PD) return {};
    return ForEachAttribute(table.payload, take_entry);
  };
  RETURN_IF_ERROR(ForEachReply(datagram, RdmaTypeOf(RDMA_NLDEV_CMD_RES_PD_GET), [&](Bytes message) {
    return ForEachAttribute(message, take_table);
  }));
  return std::vector<std::uint32_t>(pids.begin(), pids.end());
}

std::unique_ptr<RdmaNetlink> OpenRdmaNetlink() {
  return OpenRdmaNetlink(NetlinkClient(OpenSocket));
}

std::unique_ptr<RdmaNetlink> OpenRdmaNetlink(NetlinkClient client) {
  return std::make_unique<LiveRdmaNetlink>(std::move(client));
}

std::unique_ptr<RdmaNetlink> NoRdmaNetlink() {
  return std::make_unique<CapturedRdmaNetlink>();
}

}  // namespace fabric::host
