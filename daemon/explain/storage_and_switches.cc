// Storage over RDMA, and switches. Source: drivers/nvme/host/rdma.c, Lustre o2iblnd, SONiC
// orchagent (pfcactionhandler), NVIDIA fabric manager.
#include "daemon/explain/message.h"

namespace fabric::explain {
namespace {

using enum Cause;

constexpr Message kStorageAndSwitchesMessages[] = {
    {.id = "nvme_rdma_unreachable",
     .needle = "rdma connection establishment failed",
     .pattern = R"(nvme (?P<hca>nvme\d+): rdma connection establishment failed \(-1(?:01|10|13)\))",
     .title = "NVMe over RDMA: the target cannot be reached",
     .meaning = "Its address does not resolve, there is no route, or it does not answer.",
     .causes = {kNeighbourSilent, kNoRoute, kPeerGone, kFirewall}},
    {.id = "nvme_rdma_memory",
     .needle = "rdma connection establishment failed",
     .pattern = R"(nvme (?P<hca>nvme\d+): rdma connection establishment failed \(-12\))",
     .title = "NVMe over RDMA: no memory or no resources for a queue",
     .meaning = "The HCA or the kernel has no more queue pairs or keys.",
     .causes = {kQpResources}},
    {.id = "nvme_rdma_refused",
     .needle = "rdma connection establishment failed",
     .pattern = R"(nvme (?P<hca>nvme\d+): rdma connection establishment failed)",
     .title = "NVMe over RDMA: the connection was refused",
     .meaning = "The target has no such port or subsystem, or its queue pair failed.",
     .causes = {kPeerGone, kGidNotRoutable, kQpResources}},
    {.id = "nvme_queue",
     .needle = "failed to connect queue: ",
     .pattern = R"(nvme (?P<hca>nvme\d+): failed to connect queue: \d+)",
     .role = Role::kConsequence,
     .title = "NVMe over fabrics: a queue cannot be connected",
     .meaning = "A message before it has the reason.",
     .causes = {kEarlierError, kPeerGone}},
    {.id = "nvme_completion",
     .needle = " for CQE ",
     .pattern = R"(nvmet?\b.*: (?:RDMA )?[A-Z]+ for CQE .*failed with status .*\()"
                R"((?P<status>\d+)\))",
     .title = "",
     .meaning = ""},
    {.id = "lnet_unreachable",
     .needle = "o2ib",
     .pattern = R"(LNet.* (?P<peer>\d[\d.]+\d)@o2ib\d*: (?:ADDR|ROUTE) ERROR -?\d+)",
     .title = "Lustre: the address of a peer does not resolve",
     .meaning = "The request for its address gets no answer, or no route exists.",
     .causes = {kNeighbourSilent, kNoRoute, kPeerGone}},
    {.id = "lustre_operation",
     .needle = "@o2ib",
     .pattern = R"(Lustre(?:Error)?: .*(?:operation \w+ to node (?P<peer>\S+)@o2ib\d* failed: rc|)"
                R"(Connection to \S+ \(at \S+@o2ib\d*\) was lost))",
     .role = Role::kConsequence,
     .title = "Lustre: the connection to a server was lost",
     .meaning = "Messages of LNet or of the HCA before it have the reason.",
     .causes = {kEarlierError, kPeerGone}},
    {.id = "lnet_timeout",
     .needle = "o2ib",
     .pattern = R"(LNet.*o2iblnd.*Timed out (?:RDMA|tx)(?: with| for)? ?(?P<peer>\d[\d.]+\d)?)",
     .title = "Lustre: a peer does not answer over RDMA",
     .meaning = "Messages to it are lost or not acknowledged.",
     .causes = {kPeerGone, kLinkUnstable, kNeighbourSilent, kPfc}},
    {.id = "switch_pause_storm",
     .needle = "PFC storm on",
     .pattern = R"(PFC Watchdog detected PFC storm on (?:port (?P<hca>[^\s,]+)|queue))",
     .role = Role::kCause,
     .title = "a switch detected a storm of pause frames on a port",
     .meaning = "The device at the port pauses the switch all the time. The watchdog drops the "
                "traffic of the queue until it stops.",
     .causes = {kPauseStorm, kPfc}},
    {.id = "switch_pfc_on_lossy_queue",
     .needle = "on lossy queue ",
     .pattern = R"(Got PFC \d+ frame\(s\) on lossy queue (?P<detail>\d+) port (?P<hca>\S+))",
     .role = Role::kCause,
     .title = "a switch gets pause frames for a priority that is not lossless there",
     .meaning = "Host and switch have different lossless priorities. Packets of this one are "
                "dropped under load.",
     .causes = {kPfc, kTrafficClass}},
    {.id = "fabric_manager",
     .needle = "detected NVSwitch ",
     .pattern = R"(detected NVSwitch (?:non-)?fatal error \d+)",
     .role = Role::kCause,
     .title = "an NVSwitch reports an error",
     .meaning = "The fabric manager names switch and port. NVLink traffic over them fails.",
     .causes = {kNvlink}},
};

}  // namespace

extern const MessageTable storage_and_switches = {.library = "system",
                                                  .messages = kStorageAndSwitchesMessages};

}  // namespace fabric::explain
