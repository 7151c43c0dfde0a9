// Kinds of things that happen to a machine, and sets of them.
#pragma once

#include <cstdint>

namespace fabric::host {

enum class EventKind : std::uint8_t {
  kLink,     // A netdev came, went, or changed: carrier, MTU, name, master
  kAddress,  // An IP address came or went
  kDcb,      // PFC, ETS, APP or DCBX of a netdev was set
  kRdma,     // An RDMA device or its netdev came, went or was renamed; a port, GID or P_Key changed
  kHotplug,  // A device of the PCI, RDMA or net kind came, went, or changed its driver
  kModule,   // A kernel module was loaded or unloaded
  kCheck,    // Nothing; it is only time to look again.
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

// Of two kinds. One kind converts to a set by itself.
constexpr EventSet operator|(EventKind a, EventKind b) {
  return EventSet(a) | EventSet(b);
}

}  // namespace fabric::host
