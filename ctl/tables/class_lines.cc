#include "ctl/tables/class_lines.h"

#include <map>

#include "base/lists.h"
#include "base/text.h"
#include "proto/names.h"

namespace fabric::ctl {
namespace {

std::string_view SourceWord(v1::TrafficClassSource source) {
  switch (source) {
    case v1::TRAFFIC_CLASS_SOURCE_REQUEST: return "request";
    case v1::TRAFFIC_CLASS_SOURCE_PROFILE: return "profile";
    case v1::TRAFFIC_CLASS_SOURCE_MAJORITY: return "majority";
    default: return "default";
  }
}

}  // namespace

std::string ClassLines(const google::protobuf::RepeatedPtrField<v1::TrafficClass>& classes) {
  std::string lines;
  for (const v1::TrafficClass& one : classes) {
    lines +=
        Format("class {}: {} ({}); GID index: ", one.name(), one.basis(), SourceWord(one.source()));
    lines += one.has_gid_index()
                 ? Format("{} ({})", one.gid_index(), SourceWord(one.gid_index_source()))
                 : std::string("chosen by each agent");
    lines += one.has_pkey()
                 ? Format("; P_Key: {:#06x} ({})", one.pkey(), SourceWord(one.pkey_source()))
                 : std::string("; P_Key: that at index 0");
    if (one.has_service_level()) lines += Format("; service level: {}", one.service_level());
    lines += "\n";
  }
  return lines;
}

std::string LimitLines(const v1::Campaign& campaign) {
  std::string lines;
  if (campaign.probes_below_expectation() > 0)
    lines += Format("outside the expected limits: {} of {} ok\n",
                    Plural(campaign.probes_below_expectation(), "probe"), campaign.probes_ok());
  std::map<std::string, std::uint32_t> reasons;
  for (const v1::PairResult& pair : campaign.results()) {
    const v1::ProbeExpectation& limits = pair.expectation();
    if (!limits.has_bandwidth_min_bps() && !limits.has_latency_max_us() && !limits.basis().empty())
      ++reasons[limits.basis()];
  }
  for (const auto& [reason, count] : reasons)
    lines += Format("not judged by absolute limits: {}: {}\n", Plural(count, "probe"), reason);
  return lines;
}

}  // namespace fabric::ctl
