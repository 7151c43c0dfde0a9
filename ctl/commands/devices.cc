#include "base/priority_mask.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "ctl/tables/cells.h"
#include "proto/names.h"

namespace fabric::ctl {
namespace {

constexpr Option kDevicesOptions[] = {
    {.name = "NODE", .value = "NODE", .doc = "Show only this node."},
    kSelectorOption,
    kFilterOption};

std::vector<std::string> Row(const v1::DeviceSummary& port) {
  return {
      Cell(port.node()),
      Cell(port.device()),
      Format("{}", port.port()),
      NumberCell(port.has_rail(), port.rail()),
      Cell(port.netdev()),
      Cell(Name(port.protocol())),
      Cell(Name(port.state())),
      RateCell(port.has_rate_bps(), port.rate_bps()),
      NumberCell(port.has_active_mtu_bytes(), port.active_mtu_bytes()),
      NumberCell(port.has_netdev_mtu_bytes(), port.netdev_mtu_bytes()),
      port.has_pfc_enabled_mask() ? ToText(PriorityMask(port.pfc_enabled_mask()))
                                  : std::string(kAbsent),
      Cell(Name(port.trust())),
      Cell(Name(port.physical_state())),
      NumberCell(port.has_gid_index(), port.gid_index()),
      Cell(port.gid()),
      Cell(port.driver()),
      Cell(port.firmware()),
      Cell(port.pci_address()),
      Cell(port.rail_source()),
  };
}

Result<Output> RunDevices(Client& client, const Arguments& arguments, Stream&) {
  v1::ListDevicesRequest request;
  request.set_node(arguments.Text("NODE"));
  request.set_filter(arguments.Text("filter"));
  ASSIGN_OR_RETURN(v1::ListDevicesResponse response, client.List<v1::ListDevicesResponse>(request));
  if (arguments.Has("selector")) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, NodesOf(client, arguments, ""));
    KeepNodes(names, &v1::DeviceSummary::node, *response.mutable_devices());
  }
  Output output;
  Table table{.columns = {{.title = "NODE"},
                          {.title = "DEVICE"},
                          {.title = "PORT", .right_aligned = true},
                          {.title = "RAIL", .right_aligned = true},
                          {.title = "NETDEV"},
                          {.title = "PROTOCOL"},
                          {.title = "STATE", .coloured = true},
                          {.title = "RATE", .right_aligned = true},
                          {.title = "RDMA MTU", .right_aligned = true},
                          {.title = "MTU", .right_aligned = true},
                          {.title = "PFC"},
                          {.title = "TRUST"},
                          {.title = "PHYSICAL", .wide_only = true},
                          {.title = "INDEX", .wide_only = true, .right_aligned = true},
                          {.title = "GID", .wide_only = true},
                          {.title = "DRIVER", .wide_only = true},
                          {.title = "FIRMWARE", .wide_only = true},
                          {.title = "PCI", .wide_only = true},
                          {.title = "RAIL BY", .wide_only = true}},
              .empty_note = "No RDMA devices."};
  for (const v1::DeviceSummary& port : response.devices()) {
    table.rows.push_back(Row(port));
    output.names.push_back(Format("{}/{}/{}", port.node(), port.device(), port.port()));
  }
  output.tables.push_back(std::move(table));
  output.message = std::make_unique<v1::ListDevicesResponse>(std::move(response));
  return output;
}

}  // namespace

extern const Command devices = {
    .path = "devices",
    .summary = "List the RDMA ports of all nodes with their network interfaces and settings.",
    .description =
        "RDMA MTU is the active path MTU of the port; MTU is the MTU of its network interface. "
        "Both are in bytes. PFC lists the lossless priorities. INDEX and GID are the ones that "
        "probes use. RAIL BY is the source of the rail: the profile, the place of the card on most "
        "nodes of the product, its network, its place in the past, or the order of the ports.",
    .example =
        "fabricctl devices n1\n"
        "fabricctl devices -l pool=h100 --filter 'rail=3' -o wide",
    .options = kDevicesOptions,
    .run = RunDevices,
    .watch = true,
};

}  // namespace fabric::ctl
