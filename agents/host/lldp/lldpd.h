// lldpd client: neighbors of a running lldpd, by its library, loaded at run time where installed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agents/host/lldp/lldp_frame.h"
#include "base/clock.h"
#include "base/status.h"

namespace fabric::host {

struct LldpdNeighbor {
  std::string netdev;
  LldpFrame frame;
  WallTime received_at;  // First received by lldpd
};

class Lldpd {
 public:
  virtual ~Lldpd() = default;
  // LLDP neighbors of all netdevs. Read-only. NOT_FOUND without the library; UNAVAILABLE when lldpd
  // does not run, or serves only root and the group _lldpd. May block in lldpd without limit: call
  // it on a watched thread. One thread at a time.
  virtual Result<std::vector<LldpdNeighbor>> Neighbors() = 0;
};

inline constexpr const char* kLldpdLibrary = "liblldpctl.so.4";

// `library`: name for dlopen(), loaded by Neighbors(). `socket`: lldpd's socket; empty for the
// library's default.
std::unique_ptr<Lldpd> OpenLldpd(std::string library = kLldpdLibrary, std::string socket = {});

}  // namespace fabric::host
