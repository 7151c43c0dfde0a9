// NCCL and RCCL: completions, queue pairs, devices. Source: src/transport/net_ib, src/misc/ibvwrap.
#include "daemon/explain/message.h"

namespace fabric::explain {
namespace {

using enum Cause;

// The address behind "peer", as ncclSocketToString() writes it, without the port.
constexpr Message kNcclConnectionsMessages[] = {
    {.id = "completion",
     .needle = "Got completion ",
     .pattern = R"(Got completion (?:from peer )?(?:(?P<peer>[^\s<]+)\S* )??with )"
                R"((?:status ?= ?(?:IBV_WC_\w+\()?|error )(?P<status>\d+))"
                R"((?:.*?vendor[ _]err[ =](?P<vendor>\d+))?)"
                R"((?:.*? localGid ?(?P<local_gid>[0-9a-f:.]+))?)"
                R"((?:.*? remoteGids? ?(?P<remote_gid>[0-9a-f:.]+))?(?:.*? hca (?P<hca>\S+))?)",
     .title = "",
     .meaning = ""},
    {.id = "modify_qp_retried",
     .needle = "Call to ibv_modify_qp failed",
     .pattern = R"(ibv_modify_qp failed with .* on dev (?P<hca>[^:\s]+).*retrying \d+/)",
     .role = Role::kNotice,
     .title = "connecting a queue pair had to be tried again",
     .meaning = "The address of the peer did not resolve at once.",
     .causes = {kNeighbourSilent}},
    {.id = "modify_qp_timed_out",
     .needle = "ibv_modify_qp failed",
     .pattern = R"((?:status: 110 ibv_modify_qp failed|)"
                R"(ibv_modify_qp failed with (?:error )?(?:110 )?Connection timed out))"
                R"((?:.* on dev (?P<hca>[^:\s]+))?(?:.*local GID index (?P<gid_index>\d+))?)"
                R"((?:.*local GID (?P<local_gid>[0-9a-f:.]+))?)"
                R"((?:.*remote GID (?P<remote_gid>[0-9a-f:.]+))?)",
     .title = "queue pair cannot connect: address resolution timed out",
     .meaning =
         "In the transition to RTR the kernel requested the MAC address of the peer's GID and "
         "got no answer.",
     .causes = {kGidNotRoutable, kNeighbourSilent, kCrossRail, kArpFlux, kDuplicateAddress}},
    {.id = "modify_qp_unreachable",
     .needle = "ibv_modify_qp failed",
     .pattern = R"((?:status: 1(?:01|13) ibv_modify_qp failed|)"
                R"(ibv_modify_qp failed with (?:error )?(?:\d+ )?)"
                R"((?:Network is unreachable|No route to host))(?:.* on dev (?P<hca>[^:\s]+))?)"
                R"((?:.*local GID index (?P<gid_index>\d+))?)"
                R"((?:.*local GID (?P<local_gid>[0-9a-f:.]+))?)"
                R"((?:.*remote GID (?P<remote_gid>[0-9a-f:.]+))?)",
     .title = "queue pair cannot connect: no route to the peer's GID",
     .meaning = "The kernel has no route from the chosen GID to that of the peer.",
     .causes = {kNoRoute, kCrossRail, kGidNotRoutable, kNeighbourSilent}},
    {.id = "modify_qp_invalid",
     .needle = "ibv_modify_qp failed",
     .pattern = R"((?:status: 22 ibv_modify_qp failed|)"
                R"(ibv_modify_qp failed with (?:error )?(?:22 )?Invalid argument))"
                R"((?:.* on dev (?P<hca>[^:\s]+))?(?:.*local GID index (?P<gid_index>\d+))?)"
                R"((?:.*local GID (?P<local_gid>[0-9a-f:.]+))?)"
                R"((?:.*remote GID (?P<remote_gid>[0-9a-f:.]+))?)",
     .title = "queue pair cannot connect: attributes refused",
     .meaning = "The driver found the address, the MTU or the GID index of the peer impossible. "
                "Often the two ends are of different link layers.",
     .causes = {kMixedLinkLayers, kGidNotRoutable, kMtu, kHcaSetDiffers, kVersionsDiffer}},
    {.id = "modify_qp_no_device",
     .needle = "ibv_modify_qp failed",
     .pattern = R"((?:status: 19 ibv_modify_qp failed|)"
                R"(ibv_modify_qp failed with (?:error )?(?:19 )?No such device))"
                R"((?:.* on dev (?P<hca>[^:\s]+))?)",
     .title = "queue pair cannot connect: no netdev behind the GID",
     .meaning = "The GID index is empty, or its netdev is not in this network namespace.",
     .causes = {kGidNotRoutable, kDeviceNotOpenable, kPortDown}},
    {.id = "modify_qp",
     .needle = "ibv_modify_qp failed",
     .pattern = R"(ibv_modify_qp failed(?:.* on dev (?P<hca>[^:\s]+))?)"
                R"((?:.*local GID (?P<local_gid>[0-9a-f:.]+))?)"
                R"((?:.*remote GID (?P<remote_gid>[0-9a-f:.]+))?)",
     .title = "queue pair cannot change its state",
     .meaning = "The driver refused to connect the queue pair.",
     .causes = {kGidNotRoutable, kNoRoute, kNeighbourSilent, kMtu}},
    {.id = "rtr_timed_out",
     .needle = "to RTR",
     .pattern = R"((?i:modify (?:the )?QP (?:state )?to RTR).*Connection timed out)",
     .title = "queue pair cannot connect: address resolution timed out",
     .meaning =
         "In the transition to RTR the kernel requested the MAC address of the peer's GID and "
         "got no answer.",
     .causes = {kGidNotRoutable, kNeighbourSilent, kCrossRail, kArpFlux, kDuplicateAddress}},
    {.id = "rtr_failed",
     .needle = "to RTR",
     .pattern = R"((?i:fail\w* to (?:modify|change|transition).* to RTR|to RTR.*fail))",
     .title = "queue pair cannot connect",
     .meaning = "The driver refused the move to RTR: address, MTU or GID of the peer.",
     .causes = {kGidNotRoutable, kMtu, kNoRoute, kNeighbourSilent, kMixedLinkLayers}},
    {.id = "rtr_devx",
     .needle = "_obj_modify for ",
     .pattern = R"(Error in mlx5dv_devx_obj_modify for (?:INIT2RTR|RTR2RTS)_QP with syndrome)",
     .title = "queue pair cannot connect",
     .meaning = "The firmware refused the move to RTR or RTS: address, MTU or GID of the peer.",
     .causes = {kGidNotRoutable, kNeighbourSilent, kNoRoute, kMtu}},
    {.id = "reg_mr_memory",
     .needle = "reg_mr",
     .pattern = R"(Call to ibv_reg_mr\w* failed.*Cannot allocate memory)",
     .role = Role::kCause,
     .title = "memory cannot be registered: the limit of locked memory",
     .meaning = "Registering locks memory; the process may not lock as much.",
     .causes = {kMemlock, kQpResources}},
    {.id = "reg_mr_address",
     .needle = "reg_",
     .pattern = R"(Call to ibv_reg_(?:dmabuf_)?mr\w* failed.*(?:Bad address|Invalid argument|)"
                R"(Operation not supported|Input/output error))",
     .title = "GPU memory cannot be registered",
     .meaning = "The kernel cannot give the HCA access to this memory.",
     .causes = {kPeermemNotLoaded, kPeermemNotRegistered, kIommu, kGpuFailed, kProgram}},
    {.id = "create_memory",
     .needle = "Call to ibv_",
     .pattern = R"(Call to ibv_(?:create_(?:cq|qp|srq)|alloc_pd)\w* failed)"
                R"((?: with error Cannot allocate memory|\s*$))",
     .role = Role::kCause,
     .title = "queues cannot be created: the limit of locked memory, or resources",
     .meaning = "Queues are locked memory as well.",
     .causes = {kMemlock, kQpResources, kOpenFiles}},
    {.id = "device_not_opened",
     .needle = "Unable to open device",
     .pattern = R"(NET/IB\w* : Unable to open device (?P<hca>\S+))",
     .role = Role::kCause,
     .title = "HCA cannot be opened",
     .meaning = "Other nodes may open theirs: then channels to this HCA wait for ever.",
     .causes = {kDeviceNotOpenable, kHcaSetDiffers, kFirmware}},
    {.id = "open_device",
     .needle = "Call to ibv_open_device failed",
     .pattern = R"(Call to ibv_open_device failed)",
     .title = "an HCA cannot be opened",
     .meaning = "The next line names it.",
     .causes = {kDeviceNotOpenable, kHcaSetDiffers, kFirmware}},
    {.id = "query_failed",
     .needle = "NET/IB",
     .pattern = R"(NET/IB\w* : Unable to query (?:device (?P<hca>\S+)|port))",
     .title = "HCA does not answer queries",
     .meaning = "The driver knows the device, but cannot tell its properties.",
     .causes = {kFirmware, kPortDown}},
    {.id = "roce_version_unread",
     .needle = "ncclIbRoceGetVersionNum",
     .pattern = R"((?:open|read) failed in ncclIbRoceGetVersionNum)",
     .title = "the RoCE version of a GID cannot be read",
     .meaning = "An empty slot of the GID table reads as an error; this version of NCCL gives up "
                "there though later slots may be good. Newer ones go on.",
     .causes = {kVersionsDiffer, kGidNotRoutable, kDeviceNotOpenable}},
    {.id = "link_layers_merged",
     .needle = "Attempted to merge incompatible devices",
     .pattern = R"(Attempted to merge incompatible devices: \[\d+\](?P<hca>[^:\s]+))",
     .role = Role::kCause,
     .title = "InfiniBand and Ethernet HCAs cannot be merged",
     .meaning = "The job was given HCAs of both link layers.",
     .causes = {kMixedLinkLayers}},
    {.id = "qp_access_error",
     .needle = "async ",
     .pattern = R"(NET/IB\w* : (?:(?P<hca>[^:\s]+)\S* )?(?:async fatal event on QP|)"
                R"(Got async event ?: .*\blocal work queue error|)"
                R"(Got async event ?: local access violation work queue error))",
     .title = "the HCA put a queue pair into error",
     .meaning = "At the receiving end: the sender asked for something that this side's queue pair "
                "or memory does not allow.",
     .causes = {kGpuMemoryGone, kMixedLinkLayers, kVersionsDiffer, kProgram, kPeerGone}},
    {.id = "device_fatal",
     .needle = "async ",
     .pattern = R"(NET/IB\w* : (?:(?P<hca>[^:\s]+)\S* )?(?:async fatal event|)"
                R"(Got async event ?: (?:CQ error|.*catastrophic error)))",
     .role = Role::kCause,
     .title = "the HCA reports a fatal error",
     .meaning = "Device or completion queue are lost to this process.",
     .causes = {kFirmware, kPcie, kTooHot}},
    {.id = "port_error",
     .needle = "async event",
     .pattern = R"(NET/IB\w* : (?:(?P<hca>[^:\s]+)\S* )?Got (?:non-fatal )?async event ?:)"
                R"( (?:port error|PORT_ERR))",
     .role = Role::kCause,
     .title = "the port went down",
     .meaning = "The HCA reported to the job that the link is down; queue pairs work until their "
                "retries end.",
     .causes = {kLinkUnstable, kPortDown, kModule},
     .fact = Fact::kPortEvent},
    {.id = "gid_changed",
     .needle = "NET/IB",
     .pattern = R"(NET/IB\w* : (?:(?P<hca>[^:\s]+)\S* )?)"
                R"((?:GID table changed|unknown event type \(18\))"
                R"(|Got (?:non-fatal )?async event ?: GID))",
     .role = Role::kNotice,
     .title = "the GID table changed",
     .meaning = "An address was added, removed or moved on the HCA's netdev while the job ran. "
                "Queue pairs that are made from now on may use another index.",
     .causes = {kGidIndexMoved},
     .fact = Fact::kGidChanged},
    {.id = "port_active_again",
     .needle = "port active",
     .pattern = R"(NET/IB.*async event ?: port active)",
     .role = Role::kContext},
    {.id = "sm_event",
     .needle = "async event",
     .pattern = R"(NET/IB\w* : (?:(?P<hca>[^:\s]+)\S* )?Got (?:non-fatal )?async event ?:)"
                R"( (?i:client.rereg\w*|lid change|P_?key|sm change|SM_CHANGE|LID_CHANGE))",
     .role = Role::kNotice,
     .title = "the subnet manager reconfigured the port",
     .meaning = "Harmless, unless LIDs change while a job runs.",
     .causes = {kSubnetManager}},
    {.id = "resiliency_gave_up",
     .needle = "as permanently failed",
     .pattern = R"(NET/IB.*Marking device \d+ as permanently failed)",
     .title = "a failed port was not taken back",
     .meaning = "NCCL tried to use the port again and gave up.",
     .causes = {kGidIndexMoved, kLinkUnstable, kPortDown}},
};

}  // namespace

extern const MessageTable nccl_connections = {.library = "NCCL",
                                              .messages = kNcclConnectionsMessages};

}  // namespace fabric::explain
