// Remedies of findings, each with its effects.
//
// A command that changes something cannot be given without what it affects, what it interrupts,
// how long it lasts and how to undo it: these fields have no default.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// A field of an aggregate that must be given.
template <class T>
class Stated {
 public:
  template <class V>
  requires std::constructible_from<T, V&&> Stated(V&& value) : value_(std::forward<V>(value)) {}

  T& operator*() { return value_; }

 private:
  T value_;
};

// Values of ChangeText::interrupts.
inline constexpr std::string_view kInterruptsNothing;
inline constexpr std::string_view kInterruptsPort =
    "traffic of the port, while the link goes down and up";
inline constexpr std::string_view kInterruptsQueues =
    "traffic of the port, while the driver sets its queues and buffers up again";
inline constexpr std::string_view kInterruptsCard = "all ports of the card, while it resets";
inline constexpr std::string_view kInterruptsReboot = "all jobs on the node: it has to reboot";

struct Lasts {
  v1::RemedyPersistence persistence = v1::REMEDY_PERSISTENCE_UNSPECIFIED;
  std::string persist;  // How to make it permanent
};
inline Lasts Permanently() {
  return {.persistence = v1::REMEDY_PERSISTENCE_PERMANENT, .persist = {}};
}
// `persist`: an imperative sentence without a full stop.
inline Lasts UntilReboot(std::string_view persist) {
  return {.persistence = v1::REMEDY_PERSISTENCE_UNTIL_REBOOT, .persist = std::string(persist)};
}

// Values of UntilReboot().
inline constexpr std::string_view kInNetworkConfiguration =
    "set it in the network configuration (netplan, NetworkManager)";
inline constexpr std::string_view kInBootUnit = "run it in a unit at boot, after the network is up";

// A command that changes something.
struct ChangeText {
  std::string_view platform = "any";  // "mlx5", "bnxt", "ice"
  Stated<std::string> command;
  Stated<v1::RemedyReach> affects;
  Stated<std::string> interrupts;
  Stated<Lasts> lasts;
  Stated<std::string> undo;  // A command, or an imperative sentence
  std::string note = {};
  // Where to type it. Empty: on the node of the finding's subject.
  std::string host = {};
  bool weakens_isolation = false;
};
v1::Remedy Change(ChangeText text);

// A command that only reads.
struct QueryText {
  std::string_view platform = "any";
  Stated<std::string> command;
  std::string note = {};
  std::string host = {};
};
v1::Remedy Query(QueryText text);

// No command: a part to replace, or values that only the operator knows.
v1::Remedy Advice(std::string note);

// Sets the host of the commands that have none.
void SetHost(std::string_view host, v1::Remedy& remedy);

}  // namespace fabric::rules
