// Whether a system call may change anything but the caller itself.
#pragma once

#include <linux/seccomp.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

namespace fabric::readonly {

struct Caller {
  pid_t pid;
  bool may_enter_namespaces = false;  // A mount namespace of its own, for --netns
  bool may_talk = false;              // Over TCP, as the daemon does
};

// Empty: it only reads, or changes nothing but the caller. Else what it would change, for people.
std::string WhatItChanges(const seccomp_data& call, const Caller& caller);

// By the first bytes of a message to the kernel: whether it asks (empty) or sets.
std::string NetlinkChanges(int protocol, std::uint16_t type, std::uint16_t flags);

// Of the command that an ethtool ioctl carries.
bool EthtoolReads(std::uint32_t command);

}  // namespace fabric::readonly
