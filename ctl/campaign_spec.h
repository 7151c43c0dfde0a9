// What the command line says of a campaign: which pairs, and what to probe. Shared by `probe run`
// and `probe plan`. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "ctl/command.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::ctl {

// What is measured when nobody says what.
inline constexpr std::string_view kKindFallback = "both";
inline constexpr Option kPatternOption = {
    .name = "pattern",
    .value = "PATTERN",
    .fallback = "all-pairs",
    .doc =
        "all-pairs of each rail, cross-rail, one-to-many and many-to-one (--hub), ring, "
        "random-regular (--degree), same-leaf, same-pod (different leaves of one), across pods "
        "(across leaves where pods are not known), loopback, within-node, or incast: all at once "
        "to --hub."};
inline constexpr Option kHubOption = {
    .name = "hub", .value = "NAME", .doc = "The one node of one-to-many, many-to-one and incast."};
inline constexpr Option kDegreeOption = {
    .name = "degree",
    .type = OptionType::kNumber,
    .value = "COUNT",
    .doc = "Partners of each port of a random-regular plan; 4 when not given."};
inline constexpr Option kSeedOption = {
    .name = "seed",
    .type = OptionType::kNumber64,
    .doc = "Of the order of pairs; the same seed gives the same plan."};
inline constexpr Option kPairsAtOnceOption = {
    .name = "pairs-at-once",
    .type = OptionType::kNumber,
    .value = "COUNT",
    .doc = "At most so many pairs at once on the whole fabric."};
inline constexpr Option kPairsPerUplinkOption = {
    .name = "pairs-per-uplink",
    .type = OptionType::kNumber,
    .value = "COUNT",
    .doc = "At most so many pairs at once that leave one leaf switch."};
inline constexpr Option kIncludeBusyOption = {
    .name = "include-busy",
    .type = OptionType::kBool,
    .doc = "Also ports that carry traffic, which are left alone else."};

// "all-pairs"; empty for a pattern that is not known.
std::string_view PatternName(v1::CampaignPattern pattern);

// Which pairs: the options above, as far as the command has them. Without --pattern that of the
// probes that `spec` has, if they have one.
Status ReadPairs(const Arguments& arguments, v1::CampaignSpec& spec);

// What to probe: --kind and the options of kinds. An option that none of the kinds has is an
// error, and so is an unknown kind. `spec` gets the probes.
Status ReadProbes(const Arguments& arguments, v1::CampaignSpec& spec);

}  // namespace fabric::ctl
