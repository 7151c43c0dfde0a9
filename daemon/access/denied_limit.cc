#include "daemon/access/denied_limit.h"

#include <algorithm>
#include <utility>

namespace fabric::access {

bool TokenBucket::Take(SteadyTime now) {
  if (now > filled_at_) {
    const double seconds = std::chrono::duration<double>(now - filled_at_).count();
    left_ = std::min(burst_, left_ + rate_ * seconds);
    filled_at_ = now;
  }
  if (left_ < 1) return false;
  left_ -= 1;
  return true;
}

bool DeniedLimit::Grants(const std::string& host, const std::string& reason, Moment now) {
  const bool known = hosts_.contains(host) || hosts_.size() < kHostsMax;
  Host& at = hosts_[known ? host : kOtherHosts];
  at.seen_at = now.steady;
  if (at.bucket.Take(now.steady) && all_.Take(now.steady)) return true;
  if (at.omitted++ == 0) at.since = now;
  at.reason = reason;
  return false;
}

std::vector<DeniedLimit::Summary> DeniedLimit::Take(Moment now, bool all) {
  std::vector<Summary> summaries;
  for (auto& [name, host] : hosts_) {
    if (host.omitted == 0 || (!all && now.steady - host.since.steady < kSummaryEvery)) continue;
    summaries.push_back({.host = name,
                         .calls = std::exchange(host.omitted, 0),
                         .since = host.since.wall,
                         .reason = std::move(host.reason)});
  }
  // By then its bucket is full again.
  std::erase_if(hosts_, [&](const auto& entry) {
    return entry.second.omitted == 0 && now.steady - entry.second.seen_at >= kSummaryEvery;
  });
  return summaries;
}

}  // namespace fabric::access
