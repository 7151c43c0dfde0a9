// Context of a job from its log: hosts, ranks, devices and settings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/explain/matcher.h"
#include "daemon/explain/origin.h"
#include "fabric/v1/explain.pb.h"

namespace fabric::explain {

// A value and the line where it was logged.
struct Said {
  v1::LogEvidence where;
  std::string what;
};

struct DeviceEvent {
  std::string host;
  std::string hca;
  v1::LogEvidence where;
};

// All containers are bounded, because a log can name any number of hosts.
struct Context {
  std::map<std::string, std::string, std::less<>> host_of_address;
  std::map<std::string, std::uint32_t, std::less<>> rank_of_process;     // "host:pid"
  std::map<std::string, std::set<std::string>, std::less<>> devices_of;  // HCAs in use, by host
  std::map<std::string, v1::LogEvidence, std::less<>> gdr_enabled;       // By host
  std::set<std::string, std::less<>> hosts;                              // With at least one line
  std::optional<Said> mixed_link_layers;
  std::optional<Said> gid_index_set;
  std::optional<Said> gid_index_zero;  // A version of NCCL
  std::optional<Said> cross_nic;
  std::optional<Said> pxn_disabled;
  std::optional<Said> amd_gpu;
  std::optional<Said> gpu_buffer;
  std::optional<Said> size_passed;
  std::uint64_t size_passed_bytes = 0;
  std::vector<DeviceEvent> port_events;
  std::vector<DeviceEvent> gid_changes;
  std::set<std::string, std::less<>> links_up;        // "host netdev"
  std::map<std::string, LogTime, std::less<>> boots;  // By host
  bool infiniband = false;                            // An HCA of that link layer is in use
  bool roce = false;

  void Take(const Match& match, const Origin& origin, const v1::LogEvidence& where);
  // True for a link that is down because the host has just booted: no link was lost.
  bool HasNotBeenUp(const Match& match, const Origin& origin) const;
  // The host that the address belongs to, or an empty string.
  std::string HostOf(std::string_view address) const;
  std::optional<std::uint32_t> RankOf(const Origin& origin) const;
};

// Evidence at the line `where`.
v1::LogEvidence EvidenceAt(v1::LogEvidence where, std::string text);

// "::ffff:10.1.0.7" as "10.1.0.7", other addresses as they are.
std::string_view PlainAddress(std::string_view gid);
bool IsLinkLocal(std::string_view gid);
// The first three numbers of an IPv4 address, "10.1.0."; empty for others.
std::string_view Subnet24(std::string_view gid);

}  // namespace fabric::explain
