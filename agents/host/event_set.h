// Kinds of events of a machine, and sets of kinds.
#pragma once

#include <cstdint>

namespace fabric::host {

enum class EventKind : std::uint8_t {
  kLink,     // Netdev added, removed, or changed: carrier, MTU, name, master
  kAddress,  // IP address added or removed
  kDcb,      // PFC, ETS, APP or DCBX of a netdev set
  kRdma,     // RDMA device or its netdev added, removed or renamed; port, GID, P_Key
  kHotplug,  // PCI, RDMA or net device added or removed, or its driver changed
  kModule,   // Kernel module loaded or unloaded
  kCheck,    // No event: periodic full inspection
};

class EventSet {
 public:
  constexpr EventSet() = default;
  constexpr EventSet(EventKind kind) : bits_(1U << static_cast<unsigned>(kind)) {}  // NOLINT

  static constexpr EventSet All() {
    EventSet all;
    all.bits_ = (2U << static_cast<unsigned>(EventKind::kCheck)) - 1;
    return all;
  }

  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool Has(EventKind kind) const { return !(*this & kind).empty(); }

  constexpr EventSet& operator|=(EventSet other) {
    bits_ |= other.bits_;
    return *this;
  }
  friend constexpr EventSet operator|(EventSet a, EventSet b) { return a |= b; }
  friend constexpr EventSet operator&(EventSet a, EventSet b) {
    a.bits_ &= b.bits_;
    return a;
  }
  friend constexpr bool operator==(EventSet, EventSet) = default;

 private:
  std::uint32_t bits_ = 0;
};

// Set of two kinds. One kind converts implicitly.
constexpr EventSet operator|(EventKind a, EventKind b) {
  return EventSet(a) | EventSet(b);
}

}  // namespace fabric::host
