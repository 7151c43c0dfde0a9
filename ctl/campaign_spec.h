// Campaign options of `probe run` and `probe plan`: the pairs and the kinds of probes. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ctl/command.h"
#include "fabric/v1/probe.pb.h"
#include "proto/probe_kinds.h"
#include "proto/probe_presets.h"

namespace fabric::ctl {

// Default of --kind.
inline constexpr std::string_view kKindFallback = "both";
// The contents of each are in proto/probe_presets.cc, and in the description of `probe run`.
inline constexpr Option kPresetOption = {
    .name = "preset",
    .value = "PRESET",
    .doc = "Kinds, sizes and pairs by purpose; other options override it.",
    .names = ProbePresetNames};
inline constexpr Option kPatternOption = {
    .name = "pattern",
    .value = "PATTERN",
    .fallback = "all-pairs",
    .doc =
        "Pairs to probe: all-pairs (of each rail), cross-rail, one-to-many or many-to-one (with "
        "--hub), ring, random-regular (with --degree), same-leaf, same-pod (different leaves of "
        "one pod), across (different pods, or different leaves if pods are unknown), loopback, "
        "within-node, incast (all nodes to --hub at the same time), or cables (few pairs that pass "
        "every cable of an InfiniBand subnet, by its routes)."};
inline constexpr Option kHubOption = {
    .name = "hub", .value = "NAME", .doc = "Central node of one-to-many, many-to-one and incast."};
inline constexpr Option kDegreeOption = {
    .name = "degree",
    .type = OptionType::kNumber,
    .value = "COUNT",
    .doc = "Partners of each port with random-regular. Default: 4."};
inline constexpr Option kSeedOption = {
    .name = "seed",
    .type = OptionType::kNumber64,
    .doc = "Seed for the order of the pairs. The same seed gives the same plan. Default: 0."};
inline constexpr Option kPairsAtOnceOption = {
    .name = "pairs-at-once",
    .type = OptionType::kNumber,
    .value = "COUNT",
    .doc =
        "Maximum number of simultaneous pairs. Default: no limit, except "
        "that of the controller."};
inline constexpr Option kPairsPerUplinkOption = {
    .name = "pairs-per-uplink",
    .type = OptionType::kNumber,
    .value = "COUNT",
    .doc =
        "Maximum number of simultaneous pairs that cross the uplinks of a leaf switch. Default: "
        "no limit."};
inline constexpr Option kIncludeBusyOption = {.name = "include-busy",
                                              .type = OptionType::kBool,
                                              .doc = "Include ports that currently carry traffic."};

// Options of the class of traffic, for ReadClass().
inline constexpr Option kDscpOption = {
    .name = "dscp",
    .type = OptionType::kNumber,
    .max = "63",
    .doc =
        "DSCP of RoCE packets; the traffic class is then 4 * DSCP + 2. Default: that of the "
        "profile, else the DSCP of the lossless priority of most ports, else 0."};
inline constexpr Option kTrafficClassOption = {
    .name = "traffic-class",
    .type = OptionType::kNumber,
    .max = "255",
    .doc = "Traffic class of RoCE packets, instead of --dscp. Default: that of --dscp."};
inline constexpr Option kServiceLevelOption = {
    .name = "service-level",
    .type = OptionType::kNumber,
    .max = "15",
    .doc =
        "Service level of InfiniBand packets. Default: that of "
        "the profile, else 0."};
inline constexpr Option kGidIndexOption = {
    .name = "gid-index",
    .type = OptionType::kNumber,
    .value = "INDEX",
    .max = "255",
    .doc = "GID index at both ends. Default: that of the profile, else chosen by the agents."};
inline constexpr Option kPkeyOption = {
    .name = "pkey",
    .value = "P_KEY",
    .doc =
        "P_Key without the membership bit, such as 0x1. Default: that of the profile, else the "
        "one at index 0."};
inline constexpr Option kCompareDefaultOption = {
    .name = "compare-default",
    .type = OptionType::kBool,
    .doc = "Also probe with DSCP 0, and report faults that only one of the classes has."};

// Options of the settings of kinds: the flags of the schema. Their texts live as long as the
// program.
std::vector<Option> KindOptions();

// Names for --kind: "latency, bandwidth, ping, mtu, both", and those with the names of all kinds.
std::string ShortKinds();
std::string AllKinds();

// The kinds of a name for --kind, in the order of the schema.
Result<std::vector<const ProbeArm*>> KindsOf(std::string_view word);

// "all-pairs"; empty for an unknown pattern.
std::string_view PatternName(v1::CampaignPattern pattern);

// Reads the options above into `spec`. The default of --pattern follows from the probes of `spec`.
Status ReadPairs(const Arguments& arguments, v1::CampaignSpec& spec);

// Reads the options of the class of traffic.
Result<v1::TrafficClassChoice> ReadClass(const Arguments& arguments);

// All options of a campaign, for ReadCampaign().
std::vector<Option> CampaignOptions();
// Asks for the nodes of selectors.
Result<v1::CampaignSpec> ReadCampaign(Client& client, const Arguments& arguments);

// Reads --preset, --kind and the options of kinds into the probes of `spec`. An unknown kind is an
// error, and so is an option that none of the kinds has.
Status ReadProbes(const Arguments& arguments, v1::CampaignSpec& spec);

}  // namespace fabric::ctl
