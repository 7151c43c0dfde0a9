// What a running lldpd has heard, by its client library, which is loaded where it is installed.
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
  WallTime heard_at;  // Since when lldpd has it.
};

class Lldpd {
 public:
  virtual ~Lldpd() = default;
  // All neighbours of all netdevs that speak LLDP; asks and changes nothing. NOT_FOUND without the
  // library; UNAVAILABLE when lldpd does not run, or only root and the group _lldpd may ask it.
  // Waits for lldpd as long as it takes: call it where that holds up nobody else. One thread at a
  // time.
  virtual Result<std::vector<LldpdNeighbor>> Neighbors() = 0;
};

inline constexpr const char* kLldpdLibrary = "liblldpctl.so.4";

// `library` as dlopen() takes it; `socket`: where lldpd listens, empty: where the library looks for
// it. Nothing is loaded before Neighbors().
std::unique_ptr<Lldpd> OpenLldpd(std::string library = kLldpdLibrary, std::string socket = {});

}  // namespace fabric::host
