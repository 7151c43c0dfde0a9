// Failed calls of libibverbs and librdmacm in the words of any program: the call, or what it does,
// and the error. For lines that no other table has.
#include "daemon/explain/message.h"

namespace fabric::explain {
namespace {

using enum Cause;

constexpr Message kCallMessages[] = {
    {.id = "call_modify_timeout",
     .needle = "odify",
     .pattern = R"((?i:\bmodify[_ ](?:the )?(?:qp|queue pair)\b|modify_qp).*)"
                R"((?i:timed out|\bETIMEDOUT\b|)"
                R"((?:\b(?:errno|error|err|rc|ret|code)\b\W{0,4}|failed\W{1,3})\W?)"
                R"(110\b))",
     .title = "a queue pair cannot reach its peer",
     .meaning = "The address of the peer did not resolve in time.",
     .causes = {kGidNotRoutable, kNeighbourSilent, kNoRoute}},
    {.id = "call_modify_unreachable",
     .needle = "odify",
     .pattern = R"((?i:\bmodify[_ ](?:the )?(?:qp|queue pair)\b|modify_qp).*)"
                R"((?i:unreachable|no route to host|\bE(?:NET|HOST)UNREACH\b|)"
                R"((?:\b(?:errno|error|err|rc|ret|code)\b\W{0,4}|failed\W{1,3})\W?)"
                R"(1(?:01|13)\b))",
     .title = "a queue pair has no route to its peer",
     .meaning = "The host has no route from the address of this port to that of the peer.",
     .causes = {kNoRoute, kCrossRail, kGidNotRoutable, kNeighbourSilent}},
    {.id = "call_modify_invalid",
     .needle = "odify",
     .pattern = R"((?i:\bmodify[_ ](?:the )?(?:qp|queue pair)\b|modify_qp).*)"
                R"((?i:invalid argument|\bEINVAL\b|)"
                R"((?:\b(?:errno|error|err|rc|ret|code)\b\W{0,4}|failed\W{1,3})\W?)"
                R"(22\b))",
     .title = "a queue pair refuses its settings",
     .meaning = "GID index, MTU or address of the peer do not fit the port.",
     .causes = {kGidNotRoutable, kMtu, kMixedLinkLayers, kPortDown}},
    {.id = "call_address_handle",
     .needle = "create_ah",
     .pattern = R"(create_ah\w*\b.*(?i:fail|error|timed out|unreachable|invalid|no route))",
     .title = "no address handle for a peer",
     .meaning = "The address of the peer does not resolve.",
     .causes = {kNeighbourSilent, kGidNotRoutable, kNoRoute}},
    {.id = "words_address_handle",
     .needle = "ddress handle",
     .pattern = R"((?i:fail\w*|unable|can ?not|could ?n[o']t|couldn't|error)\b.*[Aa]ddress handle)",
     .title = "no address handle for a peer",
     .meaning = "The address of the peer does not resolve.",
     .causes = {kNeighbourSilent, kGidNotRoutable, kNoRoute}},
    {.id = "call_register_limit",
     .needle = "_mr",
     .pattern = R"(\breg_(?:\w+_)?mr\w*\b.*(?i:cannot allocate memory|\bENOMEM\b|)"
                R"((?:\b(?:errno|error|err|rc|ret|code)\b\W{0,4}|failed\W{1,3})\W?)"
                R"(12\b)|)"
                R"(\w+_reg_(?:\w+_)?mr\w*\b.*(?i:cannot allocate memory|\bENOMEM\b|)"
                R"((?:\b(?:errno|error|err|rc|ret|code)\b\W{0,4}|failed\W{1,3})\W?)"
                R"(12\b))",
     .title = "memory cannot be registered: the limit of locked memory",
     .meaning = "Registering locks memory; the process may not lock as much.",
     .causes = {kMemlock, kQpResources}},
    {.id = "call_register_address",
     .needle = "_mr",
     .pattern = R"(reg_(?:\w+_)?mr\w*\b.*(?i:bad address|\bEFAULT\b|)"
                R"((?:\b(?:errno|error|err|rc|ret|code)\b\W{0,4}|failed\W{1,3})\W?)"
                R"(14\b))",
     .title = "memory cannot be registered: the kernel does not know its pages",
     .meaning = "Memory of a GPU without a peer memory module or dma-buf, or memory that is gone.",
     .causes = {kPeermemNotLoaded, kPeermemNotRegistered, kPeermemAmd, kProgram}},
    {.id = "words_register_limit",
     .needle = "egister",
     .pattern = R"((?i:fail\w*|unable|can ?not|could ?n[o']t|couldn't)\b.*\b[Rr]egister\b.*)"
                R"(\b(?i:memory|mr|buffer)\b.*(?i:cannot allocate memory|\bENOMEM\b))",
     .title = "memory cannot be registered: the limit of locked memory",
     .meaning = "Registering locks memory; the process may not lock as much.",
     .causes = {kMemlock, kQpResources}},
    {.id = "call_create_resources",
     .needle = "_create_",
     .pattern = R"((?:ibv|rdma|mlx5dv)_create_(?:cq|qp|srq)\w*\b.*)"
                R"((?i:cannot allocate memory|no space left|\bENO(?:MEM|SPC)\b|)"
                R"((?:\b(?:errno|error|err|rc|ret|code)\b\W{0,4}|failed\W{1,3})\W?)"
                R"((?:12|28)\b))",
     .title = "the HCA or the limits of the process have no room for another queue",
     .meaning = "Queues lock memory, and an HCA has a limited number of them.",
     .causes = {kMemlock, kQpResources}},
    {.id = "call_open_device",
     .needle = "open_device",
     .pattern = R"(\bibv_open_device\b.*(?i:fail|error|denied|not permitted|null))",
     .title = "an RDMA device cannot be opened",
     .meaning = "The process has no right to its device file, or the container lacks it.",
     .causes = {kDeviceNotOpenable, kHcaSetDiffers, kNoProvider}},
    {.id = "words_open_device",
     .needle = "ontext",
     .pattern = R"((?i:fail\w*|unable|can ?not|could ?n[o']t|couldn't)\b.*\b(?i:get|open)\b.*)"
                R"(\b[Cc]ontext\b.*\b(?i:device|hca|mlx5_\d+|bnxt_re\d+)\b)",
     .title = "an RDMA device cannot be opened",
     .meaning = "The process has no right to its device file, or the container lacks it.",
     .causes = {kDeviceNotOpenable, kHcaSetDiffers, kNoProvider}},
    {.id = "call_resolve_device",
     .needle = "rdma_",
     .pattern = R"(\brdma_(?:resolve_addr|bind_addr)\b.*)"
                R"((?i:no such device|\bENODEV\b|cannot assign|)"
                R"((?:\b(?:errno|error|err|rc|ret|code)\b\W{0,4}|failed\W{1,3})\W?)"
                R"((?:19|99)\b))",
     .title = "an address does not belong to an RDMA device",
     .meaning = "The route to the peer, or the local address, leads over a netdev without RDMA.",
     .causes = {kNoRoute, kNoDevice, kPortDown}},
    {.id = "call_resolve",
     .needle = "rdma_",
     .pattern = R"(\brdma_resolve_(?:addr|route)\b.*)"
                R"((?i:fail|error|timed out|unreachable|no route|)"
                R"((?:\b(?:errno|error|err|rc|ret|code)\b\W{0,4}|failed\W{1,3})\W?)"
                R"(1(?:01|10|13)\b))",
     .title = "the address of a peer does not resolve",
     .meaning = "No answer to ARP or neighbor discovery, or no route.",
     .causes = {kNeighbourSilent, kNoRoute, kPortDown}},
    {.id = "words_no_active_port",
     .needle = "active port",
     .pattern = R"(\b(?i:no|without|not find an?)\b (?:\w+ )?active ports?\b)",
     .title = "no RDMA port is ACTIVE",
     .meaning = "The links are down, or the subnet manager has not configured them.",
     .causes = {kPortDown, kSubnetManager, kDeviceNotOpenable}},
    {.id = "words_gid_index",
     .needle = "ndex",
     .pattern = R"((?i:gid[_ ]?index\b.{0,24}(?:invalid|out of range|not (?:valid|found|exist))|)"
                R"((?:invalid|bad|wrong|no such) (?:s?gid|source gid)[_ ]?index))",
     .title = "the GID index does not exist on the port",
     .meaning = "The table of GIDs has no entry at this index, or an empty one.",
     .causes = {kGidIndexMoved, kGidNotRoutable, kPortDown}},
    {.id = "driver_transmit_timeout",
     .needle = "imeout",
     .pattern =
         R"(\b(?:mlx[45]_\w+|bnxt_en|ice|ionic|qede|hns3|mana)\b.*\b(?:TX timeout|Tx Timeout)\b)",
     .title = "a NIC does not send",
     .meaning = "A transmit queue made no progress: paused by the switch, or firmware that hangs.",
     .causes = {kPauseStorm, kFirmware, kPcie}},
};

}  // namespace

extern const MessageTable verbs_calls = {.library = "verbs", .messages = kCallMessages};

}  // namespace fabric::explain
