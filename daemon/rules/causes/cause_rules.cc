#include "daemon/rules/causes/cause_rules.h"

namespace fabric::rules {
namespace {

using Rules = std::string_view[];

constexpr Rules kPauseSenders = {"no_pause_storm", "pause_sent_within_limit"};
constexpr Rules kPausedPeers = {"pause_received_within_limit", "no_pause_deadlock"};

constexpr Rules kPausedByLoad = {"pause_received_within_limit"};

constexpr Rules kLateEcn = {"ecn_acts_before_pfc"};

constexpr Rules kFallenPcieLinks = {"pcie_link_width_as_capable", "pcie_link_speed_as_capable"};
constexpr Rules kPcieErrors = {"pcie_link_without_errors", "pcie_errors_like_equals"};
constexpr Rules kNarrowPcie = {"pcie_link_width_as_capable", "pcie_link_speed_as_capable",
                               "pcie_bandwidth_covers_port"};
constexpr Rules kSlowMemory = {"acs_off_between_gpu_and_nic", "iommu_passes_through"};
constexpr Rules kPausing = {"pause_sent_within_limit"};
constexpr Rules kDiscards = {"discards_like_equals"};

// Data arrives, or is sent, in a priority without PFC.
constexpr Rules kUnprotected = {"switch_pfc_equals_host",      "lossless_has_flow_control",
                                "pfc_on_data_priority",        "pfc_equal_on_rail",
                                "bond_members_settings_equal", "data_dscp_has_data_priority",
                                "pfc_covers_roce_dscp",        "trust_equal_on_rail"};
constexpr Rules kSentUnprotected = {"switch_mtu_covers_host",
                                    "switch_pfc_equals_host",
                                    "lossless_has_flow_control",
                                    "pfc_on_data_priority",
                                    "pfc_equal_on_rail",
                                    "bond_members_settings_equal",
                                    "data_dscp_has_data_priority",
                                    "pfc_covers_roce_dscp",
                                    "trust_equal_on_rail",
                                    "roce_app_priority_has_pfc",
                                    "roce_dscp_equal",
                                    "roce_priority_equal",
                                    "traffic_class_carries_data_dscp",
                                    "traffic_class_equal_on_rail",
                                    "rdma_on_lossless_priority",
                                    "ecn_obeyed_on_data_priority",
                                    "port_ecn_enabled"};
constexpr Rules kLost = {"packets_in_sequence", "acknowledgements_in_time"};

constexpr Rules kMarkedWrong = {"traffic_class_carries_data_dscp", "traffic_class_equal_on_rail",
                                "roce_dscp_equal", "roce_priority_equal"};
constexpr Rules kOnLossy = {"rdma_on_lossless_priority"};

constexpr Rules kOtherPriorities = {"pfc_on_data_priority", "pfc_equal_on_rail"};
constexpr Rules kPausedInVain = {"pfc_frames_on_enabled_priorities"};

constexpr Rules kNoRoom = {"switch_pfc_equals_host", "pfc_within_capability",
                           "lossless_buffer_apart", "lossless_buffer_has_headroom",
                           "cable_length_covers_link"};
constexpr Rules kOverflow = {"lossless_priority_keeps_packets"};

constexpr Rules kUncorrected = {"fec_equal_on_rail"};
constexpr Rules kLinkErrors = {"link_errors_within_limit"};
constexpr Rules kFlaps = {"link_stays_up"};
constexpr Rules kBadModule = {"card_temperature_within_limit", "module_within_limits",
                              "module_reports_no_fault"};
constexpr Rules kRawErrors = {"raw_bit_errors_within_limit"};
constexpr Rules kStalls = {"pcie_not_stalled"};
constexpr Rules kCnpsIgnored = {"cnps_obeyed"};
constexpr Rules kManyCnps = {"cnp_share_within_limit"};
constexpr Rules kMissingCard = {"fabric_card_present", "fabric_port_count_equal"};
constexpr Rules kUnusableCard = {"rdma_card_has_driver", "rdma_card_has_device"};
constexpr Rules kFarGpu = {"gpu_near_nic"};
constexpr Rules kOtherTopology = {"pci_topology_equal"};
constexpr Rules kKernelParameters = {"kernel_command_line_equal"};
constexpr Rules kIommuOfNode = {"iommu_equal"};
constexpr Rules kRefusedModules = {"log_modules_fit"};
constexpr Rules kSafeMode = {"log_nic_starts_completely"};
constexpr Rules kMissingDevices = {"rdma_card_has_device", "rdma_card_has_driver",
                                   "rdma_device_present"};
constexpr Rules kRefusedLinkModule = {"log_no_module_faults"};
constexpr Rules kPortDown = {"port_active"};
constexpr Rules kFailedCard = {"log_firmware_healthy", "log_no_pcie_faults",
                               "log_no_command_timeouts"};
constexpr Rules kEffectsOfCard = {"log_no_transmit_timeouts"};
constexpr Rules kFailedFirmware = {"log_firmware_healthy"};
constexpr Rules kPcieFaults = {"log_no_pcie_faults"};
constexpr Rules kLateCommands = {"log_no_command_timeouts"};
constexpr Rules kMissingModules = {"peermem_loaded", "peermem_bound", "rdma_card_has_device",
                                   "rdma_device_present"};

constexpr Rules kOtherMtu = {"mtu_equal_in_node"};
constexpr Rules kSmallRdmaMtu = {"rdma_mtu_of_fast_link"};

constexpr Rules kSplitBond = {"bond_within_one_card"};
constexpr Rules kBondMembers = {"bond_members_active"};
constexpr Rules kSlowMember = {"bond_member_speeds_equal"};
constexpr Rules kRateOfPort = {"link_rate_expected", "link_speed_equal_on_rail",
                               "link_speed_equal_in_node"};

// Settings of the first member of a bond, compared with other nodes or with the profile.
constexpr Rules kPfcOfPort = {"pfc_equal_on_rail", "pfc_on_data_priority",
                              "lossless_has_flow_control"};
constexpr Rules kTrustOfPort = {"pfc_covers_roce_dscp", "trust_equal_on_rail"};
constexpr Rules kPauseOfPort = {"pfc_excludes_global_pause", "global_pause_equal_on_rail",
                                "pfc_instead_of_global_pause"};
constexpr Rules kEcnOfPort = {"ecn_notified_on_data_priority", "ecn_obeyed_on_data_priority",
                              "port_ecn_enabled"};
constexpr Rules kMapOfPort = {"pfc_covers_roce_dscp", "data_dscp_has_data_priority"};
constexpr Rules kEtsOfPort = {"data_class_has_bandwidth", "ets_share_equal_on_rail",
                              "ets_shares_sum_to_100", "data_class_apart"};
constexpr Rules kSharedClass = {"data_class_apart"};
constexpr Rules kEtsShares = {"ets_share_equal_on_rail"};
constexpr Rules kBondSettings = {"bond_members_settings_equal"};

constexpr Rules kRdmaMtu = {"mtu_equal_on_rail", "ib_mtu_full", "rdma_mtu_expected"};
constexpr Rules kIpoibSettings = {"ipoib_settings_equal"};

// What probes measure
constexpr Rules kLocated = {"probe_blame"};
constexpr Rules kLossyLinks = {"link_errors_within_limit", "link_stays_up", "fec_equal_on_rail",
                               "switch_mtu_covers_host", "port_active"};
constexpr Rules kSlowLinks = {"link_rate_expected",
                              "link_speed_equal_in_node",
                              "link_speed_equal_on_rail",
                              "link_speed_near_maximum",
                              "ib_width_full",
                              "link_errors_within_limit",
                              "mtu_equal_on_rail",
                              "mtu_equal_in_node",
                              "rdma_mtu_expected",
                              "rdma_mtu_of_fast_link",
                              "ib_mtu_full",
                              "data_class_not_rate_limited",
                              "no_pause_storm",
                              "pause_sent_within_limit",
                              "pause_received_within_limit"};
constexpr Rules kLateLinks = {"no_pause_storm", "pause_sent_within_limit",
                              "pause_received_within_limit", "link_errors_within_limit"};
constexpr Rules kDeadNodes = {"node_connected"};

constexpr CauseRule kCauseRules[] = {
    {.why = "A port that pauses its switch makes the switch pause its other ports",
     .where = Where::kPeer,
     .causes = kPauseSenders,
     .effects = kPausedPeers},
    {.why = "PFC stops senders that ECN does not slow down in time",
     .causes = kLateEcn,
     .effects = kPausedByLoad},
    {.why = "A PCIe link that falls back in speed or width has errors",
     .where = Where::kCard,
     .causes = kFallenPcieLinks,
     .effects = kPcieErrors},
    {.why =
         "A card with too little PCIe bandwidth receives faster than the host accepts, and pauses",
     .where = Where::kCard,
     .causes = kNarrowPcie,
     .effects = kPausing},
    {.why = "Without PFC, a card with too little PCIe bandwidth drops packets",
     .where = Where::kCard,
     .causes = kNarrowPcie,
     .effects = kDiscards,
     .counter = "rx_discards"},
    {.why = "Writes through the IOMMU or the root complex are slow, and the card pauses",
     .where = Where::kNode,
     .causes = kSlowMemory,
     .effects = kPausing},
    {.why = "Packets in a priority without PFC are dropped on congestion",
     .causes = kUnprotected,
     .effects = kDiscards,
     .counter = "rx_discards"},
    {.why = "Packets queued for a link that goes down are dropped",
     .causes = kFlaps,
     .effects = kDiscards,
     .counter = "tx_discards"},
    {.why = "Packets that are too large, without PFC or without congestion control are lost",
     .causes = kSentUnprotected,
     .effects = kLost},
    {.why = "A path that loses packets of probes loses those of jobs",
     .causes = kLocated,
     .effects = kLost,
     .cause_counter = "packet loss"},
    {.why = "A link that is down, has errors or drops large packets loses packets of probes",
     .causes = kLossyLinks,
     .effects = kLocated,
     .counter = "packet loss"},
    {.why = "A card with too little PCIe bandwidth is slow",
     .where = Where::kCard,
     .causes = kNarrowPcie,
     .effects = kLocated,
     .counter = "bandwidth"},
    {.why = "A slow link, small packets or pauses limit the bandwidth of probes",
     .causes = kSlowLinks,
     .effects = kLocated,
     .counter = "bandwidth"},
    {.why = "Pauses and retransmissions delay probes",
     .causes = kLateLinks,
     .effects = kLocated,
     .counter = "latency"},
    {.why = "A node that does not run answers no probes",
     .where = Where::kNode,
     .causes = kDeadNodes,
     .effects = kLocated},
    {.why = "Packets without the DSCP of RoCE data do not get its priority",
     .causes = kMarkedWrong,
     .effects = kOnLossy},
    {.why = "A host with PFC for another priority than the fabric ignores the pause frames",
     .causes = kOtherPriorities,
     .effects = kPausedInVain},
    {.why = "PFC loses packets without buffer for those on the wire, or when the switch ignores it",
     .causes = kNoRoom,
     .effects = kOverflow},
    {.why = "The RDMA MTU follows the netdev MTU", .causes = kOtherMtu, .effects = kSmallRdmaMtu},
    {.why = "Another member of the bond has the expected PFC",
     .causes = kPfcOfPort,
     .effects = kBondSettings,
     .counter = "PFC enabled priorities of bond members"},
    {.why = "Another member of the bond has the expected trust",
     .causes = kTrustOfPort,
     .effects = kBondSettings,
     .counter = "trust of bond members"},
    {.why = "Another member of the bond has the expected pause",
     .causes = kPauseOfPort,
     .effects = kBondSettings,
     .counter = "global pause of bond members"},
    {.why = "Another member of the bond has the expected ECN",
     .causes = kEcnOfPort,
     .effects = kBondSettings,
     .counter = "ECN of bond members"},
    {.why = "Another member of the bond has the expected map",
     .causes = kMapOfPort,
     .effects = kBondSettings,
     .counter = "map of DSCP to priority of bond members"},
    {.why = "Another member of the bond has the expected shares",
     .causes = kEtsOfPort,
     .effects = kBondSettings,
     .counter = "ETS of bond members"},
    {.why = "A priority that was moved to another class has the share of that class",
     .causes = kSharedClass,
     .effects = kEtsShares},
    {.why = "IPoIB cannot have larger packets than the port",
     .causes = kRdmaMtu,
     .effects = kIpoibSettings,
     .counter = "IPoIB MTU"},
    {.why = "Without FEC, bit errors are not corrected",
     .causes = kUncorrected,
     .effects = kLinkErrors},
    {.why = "A module that is too hot, or receives too little light, has bit errors",
     .where = Where::kCard,
     .causes = kBadModule,
     .effects = kRawErrors},
    {.why = "Blocks with more bit errors than can be corrected are lost",
     .causes = kRawErrors,
     .effects = kLinkErrors},
    {.why = "A narrow or slow PCIe link has no credits most of the time",
     .where = Where::kCard,
     .causes = kNarrowPcie,
     .effects = kStalls},
    {.why = "A sender that ignores CNPs gets more of them",
     .causes = kCnpsIgnored,
     .effects = kManyCnps},
    {.why = "Ports of several cards do not form one aggregate of RDMA",
     .where = Where::kNode,
     .causes = kSplitBond,
     .effects = kBondMembers},
    {.why = "The rate of a bond is that of its members",
     .causes = kSlowMember,
     .effects = kRateOfPort},
    {.why = "A card without a driver or an RDMA device has no port",
     .where = Where::kNode,
     .causes = kUnusableCard,
     .effects = kMissingCard},
    {.why = "A GPU has no near NIC when its card is missing",
     .where = Where::kNode,
     .causes = kMissingCard,
     .effects = kFarGpu},
    {.why = "A GPU has no near NIC when the card has no RDMA device",
     .where = Where::kNode,
     .causes = kUnusableCard,
     .effects = kFarGpu},
    {.why = "A GPU or a NIC in another slot than on equal nodes",
     .where = Where::kNode,
     .causes = kOtherTopology,
     .effects = kFarGpu},
    {.why = "Kernel parameters set the mode of the IOMMU",
     .where = Where::kNode,
     .causes = kKernelParameters,
     .effects = kIommuOfNode},
    {.why = "A port whose module the card refuses has no link",
     .where = Where::kCard,
     .causes = kRefusedLinkModule,
     .effects = kPortDown},
    {.why = "A driver that does not reach its card on PCIe reports a failed device",
     .where = Where::kCard,
     .causes = kPcieFaults,
     .effects = kFailedFirmware},
    {.why = "Firmware that failed does not answer commands",
     .where = Where::kCard,
     .causes = kFailedFirmware,
     .effects = kLateCommands},
    {.why = "A card that failed does not answer its driver and does not send",
     .where = Where::kCard,
     .causes = kFailedCard,
     .effects = kEffectsOfCard},
    {.why = "Firmware that does not start cannot be initialized",
     .where = Where::kNode,
     .causes = kSafeMode,
     .effects = kFailedFirmware},
    {.why = "A NIC in safe mode, or that its driver could not start, has no RDMA device",
     .where = Where::kNode,
     .causes = kSafeMode,
     .effects = kMissingDevices},
    {.why = "A module that the kernel refuses to load is missing",
     .where = Where::kNode,
     .causes = kRefusedModules,
     .effects = kMissingModules},
};

}  // namespace

std::span<const CauseRule> CauseRules() {
  return kCauseRules;
}

}  // namespace fabric::rules
