#include "agents/host/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace fabric::host {
namespace {

constexpr std::uint32_t kNetRaw = std::uint32_t{1} << CAP_NET_RAW;  // In the first of two words

}  // namespace

Status DropNetRaw() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return FromErrno(errno, "capget");
  if ((sets[0].permitted & kNetRaw) == 0) return {};
  // Without CAP_SETPCAP the bounding set stays; no_new_privs makes it useless.
  (void)::prctl(PR_CAPBSET_DROP, CAP_NET_RAW, 0, 0, 0);
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, CAP_NET_RAW, 0, 0);
  sets[0].effective &= ~kNetRaw;
  sets[0].permitted &= ~kNetRaw;
  sets[0].inheritable &= ~kNetRaw;
  if (::syscall(SYS_capset, &header, sets.data()) != 0) return FromErrno(errno, "capset");
  return {};
}

}  // namespace fabric::host
