// The kernel's RDMA core. Source: drivers/infiniband/core/{cache,cm,cma,device,mad}.c.
#include "daemon/explain/message.h"

namespace fabric::explain {
namespace {

using enum Cause;

constexpr Message kRdmaCoreMessages[] = {
    {.id = "gid_table_full",
     .needle = "GID",
     .pattern = R"((?P<hca>\w+): Failed to add GID: 0xffffff(?:f4|e4)\b)",
     .role = Role::kCause,
     .title = "the HCA has no room for another entry of its GID table",
     .meaning = "The address has no GID. Each address of the port takes one entry or two.",
     .causes = {kQpResources, kFirmware}},
    {.id = "gid_not_added_full",
     .needle = " gid",
     .pattern = R"(ib_cache_gid_add: unable to add gid \S+ error=-(?:12|28)\b)",
     .role = Role::kCause,
     .title = "the HCA has no room for another entry of its GID table",
     .meaning = "The address has no GID. Each address of the port takes one entry or two.",
     .causes = {kQpResources, kFirmware}},
    {.id = "gid_refused",
     .needle = "GID",
     .pattern = R"((?P<hca>\w+): (?:Failed to add GID|.*\bGID add failed port=))",
     .role = Role::kCause,
     .title = "the HCA refused an entry of its GID table",
     .meaning = "The address has no GID, and GID indexes differ between nodes.",
     .causes = {kGidIndexMoved, kFirmware}},
    {.id = "gid_not_added",
     .needle = " gid",
     .pattern = R"(ib_cache_gid_add: unable to add gid|(?P<hca>hns_\w+): failed to set gid, ret)",
     .role = Role::kCause,
     .title = "the HCA refused an entry of its GID table",
     .meaning = "The address has no GID, and GID indexes differ between nodes.",
     .causes = {kGidIndexMoved, kFirmware}},
    {.id = "port_not_managed",
     .needle = "infiniband ",
     .pattern = R"(infiniband (?P<hca>\S+): (?:Couldn't (?:create ib_mad (?:QP|CQ|PD)|open port|)"
                R"(start port|change QP\d* state|set up InfiniBand P_Key/GID cache)|)"
                R"(ib_query_port failed))",
     .role = Role::kCause,
     .title = "the kernel cannot use a port of the HCA",
     .meaning = "The device refuses a queue pair or an answer, so that connections with rdma_cm "
                "and the subnet manager do not work there.",
     .causes = {kFirmware, kDriverMismatch}},
    {.id = "cm_stuck",
     .needle = " timed out. state ",
     .pattern = R"((?:(?P<hca>\w+): )?cm_destroy_id\w*: cm_id=\S+ timed out\. state )",
     .title = "a connection cannot be closed",
     .meaning = "Something in the kernel still uses it. The process that closes it hangs.",
     .causes = {kFirmware, kPeerGone}},
    {.id = "cm_pkey",
     .needle = "different BTH P_Key",
     .pattern = R"(got different BTH P_Key \(0x[0-9a-f]+\) and primary path P_Key)",
     .role = Role::kNotice,
     .title = "a connection request came in another partition than it names",
     .meaning = "The connection works, but the two sides have different P_Key tables.",
     .causes = {kPkey}},
    // The port is in use, or the device has none for Ethernet: the other devices listen.
    {.id = "cm_listen",
     .needle = "cma_listen_on_dev",
     .pattern = R"(RDMA CMA: cma_listen_on_dev, error -(?:38|98)\b)",
     .role = Role::kContext},
};

}  // namespace

extern const MessageTable rdma_core = {.library = "kernel", .messages = kRdmaCoreMessages};

}  // namespace fabric::explain
