#include "tests/readonly/verdict.h"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <rdma/rdma_netlink.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>

#include "tests/readonly/calls.h"

namespace fabric::readonly {
namespace {

constexpr std::uint64_t kWriting = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;

// Memory of the caller, which waits meanwhile.
template <class T>
std::optional<T> Peek(const Caller& caller, std::uint64_t address) {
  T value;
  const std::string path = "/proc/" + std::to_string(caller.pid) + "/mem";
  const int memory = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t size = ::pread(memory, &value, sizeof value, static_cast<off_t>(address));
  ::close(memory);
  if (size != static_cast<ssize_t>(sizeof value)) return std::nullopt;
  return value;
}

std::string PeekText(const Caller& caller, std::uint64_t address) {
  std::string text;
  while (text.size() < 4096) {
    const auto letter = Peek<char>(caller, address + text.size());
    if (!letter || *letter == '\0') break;
    text += *letter;
  }
  return text;
}

// What a descriptor of the caller is: a path, "socket:[7]", "pipe:[8]", "anon_inode:[eventfd]".
std::string Descriptor(const Caller& caller, std::uint64_t fd) {
  std::array<char, 4096> target;
  const std::string link =
      "/proc/" + std::to_string(caller.pid) + "/fd/" + std::to_string(static_cast<int>(fd));
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  return size < 0 ? "?" : std::string(target.data(), static_cast<std::size_t>(size));
}

struct SocketKind {
  int domain = -1;
  int type = -1;
  int protocol = -1;
};

// A copy of the caller's socket tells what it is.
SocketKind KindOf(const Caller& caller, std::uint64_t fd) {
  SocketKind kind;
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, caller.pid, 0));
  const int copy = static_cast<int>(::syscall(SYS_pidfd_getfd, process, static_cast<int>(fd), 0));
  socklen_t size = sizeof kind.domain;
  ::getsockopt(copy, SOL_SOCKET, SO_DOMAIN, &kind.domain, &size);
  ::getsockopt(copy, SOL_SOCKET, SO_TYPE, &kind.type, &size);
  ::getsockopt(copy, SOL_SOCKET, SO_PROTOCOL, &kind.protocol, &size);
  ::close(copy);
  ::close(process);
  return kind;
}

bool IsAllowedTalk(const Caller& caller, const SocketKind& kind) {
  const bool internet = kind.domain == AF_INET || kind.domain == AF_INET6;
  return caller.may_talk && internet && kind.type == SOCK_STREAM;
}

// Verbs open their device for writing; that alone changes nothing.
bool IsVerbsDevice(std::string_view path) {
  return path.starts_with("/dev/infiniband/uverbs") || path.starts_with("/dev/infiniband/rdma_cm");
}

std::string Opening(const Caller& caller, std::uint64_t path, std::uint64_t flags) {
  if ((flags & kWriting) == 0) return {};
  const std::string name = PeekText(caller, path);
  const bool creates = (flags & (O_CREAT | O_TRUNC)) != 0;
  if (!creates && (IsVerbsDevice(name) || name == "/dev/null" || name == "/dev/tty")) return {};
  return "opening " + name + " for writing";
}

std::string Writing(const Caller& caller, std::uint64_t fd) {
  const std::string what = Descriptor(caller, fd);
  if (fd <= 2 || what.starts_with("pipe:") || what.starts_with("anon_inode:") ||
      IsVerbsDevice(what) || what == "/dev/null")
    return {};
  if (what.starts_with("socket:") && IsAllowedTalk(caller, KindOf(caller, fd))) return {};
  return "writing to " + what;
}

std::string Control(const Caller& caller, const seccomp_data& call) {
  const auto request = static_cast<std::uint32_t>(call.args[1]);
  constexpr std::uint32_t kTerminalGet[] = {TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX};
  if (std::count(std::begin(kTerminalGet), std::end(kTerminalGet), request) > 0) return {};
  const std::string what = Descriptor(caller, call.args[0]);
  if (IsVerbsDevice(what) && request == RDMA_VERBS_IOCTL) return {};
  // SIOCGIFNAME, ...: what gets has G in its name and an even number, what sets follows it.
  const bool gets = request >= SIOCGIFNAME && request <= SIOCGIFTXQLEN && request % 2 == 0;
  if (request == SIOCGIFINDEX || gets) return {};
  if (request == SIOCETHTOOL) {
    const auto asked = Peek<ifreq>(caller, call.args[2]);
    const auto command =
        asked ? Peek<std::uint32_t>(caller, reinterpret_cast<std::uint64_t>(asked->ifr_data))
              : std::nullopt;
    if (command && EthtoolReads(*command)) return {};
    return "ethtool command " + std::to_string(command.value_or(0));
  }
  return "ioctl " + std::to_string(request) + " on " + what;
}

// Number of the generic netlink family "ethtool"; 0 if the kernel has none.
std::uint16_t FindEthtoolFamily() {
  struct {
    nlmsghdr header = {.nlmsg_len = sizeof(nlmsghdr) + sizeof(genlmsghdr) + sizeof(nlattr) + 8,
                       .nlmsg_type = GENL_ID_CTRL,
                       .nlmsg_flags = NLM_F_REQUEST};
    genlmsghdr generic = {.cmd = CTRL_CMD_GETFAMILY, .version = 1};
    nlattr attribute = {.nla_len = sizeof(nlattr) + 8, .nla_type = CTRL_ATTR_FAMILY_NAME};
    char name[8] = ETHTOOL_GENL_NAME;
  } request;
  std::array<char, 4096> reply{};
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
  ssize_t size = -1;
  if (::send(socket, &request, sizeof request, 0) == static_cast<ssize_t>(sizeof request))
    size = ::recv(socket, reply.data(), reply.size(), 0);
  ::close(socket);
  for (std::size_t at = sizeof(nlmsghdr) + sizeof(genlmsghdr);
       size > 0 && at + sizeof(nlattr) + 2 <= static_cast<std::size_t>(size);) {
    nlattr attribute;
    std::memcpy(&attribute, &reply[at], sizeof attribute);
    std::uint16_t number = 0;
    std::memcpy(&number, &reply[at + sizeof attribute], sizeof number);
    if (attribute.nla_type == CTRL_ATTR_FAMILY_ID) return number;
    at += NLA_ALIGN(std::max<std::size_t>(attribute.nla_len, sizeof attribute));
  }
  return 0;
}

// Questions of ethtool netlink about FEC and modules.
bool EthtoolAsks(const Caller& caller, std::uint64_t data, const nlmsghdr& header) {
  static const std::uint16_t kFamily = FindEthtoolFamily();
  if (kFamily == 0 || header.nlmsg_type != kFamily) return false;
  const auto generic = Peek<genlmsghdr>(caller, data + NLMSG_HDRLEN);
  return generic &&
         (generic->cmd == ETHTOOL_MSG_FEC_GET || generic->cmd == ETHTOOL_MSG_MODULE_EEPROM_GET);
}

std::string Message(const Caller& caller, std::uint64_t fd, std::uint64_t data) {
  const SocketKind kind = KindOf(caller, fd);
  if (kind.domain == AF_UNIX || IsAllowedTalk(caller, kind)) return {};
  if (kind.domain != AF_NETLINK)
    return "sending over a socket of family " + std::to_string(kind.domain);
  const auto header = Peek<nlmsghdr>(caller, data);
  if (!header) return "a netlink message that cannot be read";
  if (kind.protocol == NETLINK_GENERIC && EthtoolAsks(caller, data, *header)) return {};
  return NetlinkChanges(kind.protocol, header->nlmsg_type, header->nlmsg_flags);
}

std::string Gathered(const Caller& caller, std::uint64_t fd, std::uint64_t address) {
  const auto message = Peek<msghdr>(caller, address);
  const auto first = message && message->msg_iovlen > 0
                         ? Peek<iovec>(caller, reinterpret_cast<std::uint64_t>(message->msg_iov))
                         : std::nullopt;
  if (!first) return "a message that cannot be read";
  return Message(caller, fd, reinterpret_cast<std::uint64_t>(first->iov_base));
}

std::string SettingOfSocket(const Caller& caller, const seccomp_data& call) {
  const auto level = static_cast<int>(call.args[1]);
  const auto option = static_cast<int>(call.args[2]);
  if (level == SOL_SOCKET || level == SOL_NETLINK) return {};
  const bool of_internet = level == IPPROTO_TCP || level == IPPROTO_IP || level == IPPROTO_IPV6;
  if (of_internet && IsAllowedTalk(caller, KindOf(caller, call.args[0]))) return {};
  // The card lets frames to one more group pass for as long as the socket is open: that is how one
  // listens. Promiscuous it must not become.
  if (level == SOL_PACKET && (option == PACKET_ADD_MEMBERSHIP || option == PACKET_DROP_MEMBERSHIP))
    if (const auto group = Peek<packet_mreq>(caller, call.args[3]);
        group && group->mr_type == PACKET_MR_MULTICAST)
      return {};
  return "setsockopt at level " + std::to_string(level);
}

std::string SettingOfClock(const Caller& caller, std::uint64_t address) {
  const auto asked = Peek<timex>(caller, address);
  return asked && asked->modes == 0 ? "" : "setting the clock";
}

std::string Depends(const Caller& caller, const seccomp_data& call) {
  constexpr std::uint64_t kReadAll = 3, kSizeUnread = 9, kSizeBuffer = 10;  // Of syslog(2)
  switch (call.nr) {
    case SYS_openat2: {
      const auto how = Peek<open_how>(caller, call.args[2]);
      return how ? Opening(caller, call.args[1], how->flags) : "openat2 that cannot be read";
    }
    case SYS_ioctl: return Control(caller, call);
    case SYS_sendto: return Message(caller, call.args[0], call.args[1]);
    case SYS_sendmsg:
    case SYS_sendmmsg: return Gathered(caller, call.args[0], call.args[1]);
    case SYS_adjtimex: return SettingOfClock(caller, call.args[0]);
    case SYS_clock_adjtime: return SettingOfClock(caller, call.args[1]);
    case SYS_syslog:
      return call.args[0] == kReadAll || call.args[0] == kSizeUnread || call.args[0] == kSizeBuffer
                 ? ""
                 : "syslog action " + std::to_string(call.args[0]);
    default: return "a call that is not known";
  }
}

}  // namespace

bool EthtoolReads(std::uint32_t command) {
  constexpr std::uint32_t kReads[] = {
      ETHTOOL_GSET,        ETHTOOL_GDRVINFO,     ETHTOOL_GLINK,         ETHTOOL_GRINGPARAM,
      ETHTOOL_GPAUSEPARAM, ETHTOOL_GSTRINGS,     ETHTOOL_GSTATS,        ETHTOOL_GPERMADDR,
      ETHTOOL_GSSET_INFO,  ETHTOOL_GFLAGS,       ETHTOOL_GPFLAGS,       ETHTOOL_GCHANNELS,
      ETHTOOL_GFEATURES,   ETHTOOL_GEEE,         ETHTOOL_GLINKSETTINGS, ETHTOOL_GFECPARAM,
      ETHTOOL_GTUNABLE,    ETHTOOL_PHY_GTUNABLE,
  };
  return std::count(std::begin(kReads), std::end(kReads), command) > 0;
}

std::string NetlinkChanges(int protocol, std::uint16_t type, std::uint16_t flags) {
  if (protocol == NETLINK_ROUTE) {
    // Each object has four numbers: new, delete, get, set.
    if (type >= RTM_BASE && (type - RTM_BASE) % 4 == 2) return {};
    return "rtnetlink message " + std::to_string(type);
  }
  if (protocol == NETLINK_RDMA) {
    constexpr std::uint16_t kReads[] = {
        RDMA_NLDEV_CMD_GET,         RDMA_NLDEV_CMD_PORT_GET,   RDMA_NLDEV_CMD_SYS_GET,
        RDMA_NLDEV_CMD_RES_GET,     RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_CMD_RES_CM_ID_GET,
        RDMA_NLDEV_CMD_RES_CQ_GET,  RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_CMD_RES_PD_GET,
        RDMA_NLDEV_CMD_GET_CHARDEV, RDMA_NLDEV_CMD_STAT_GET,   24 /* STAT_GET_STATUS */,
    };
    const bool nldev = type >> 10 == RDMA_NL_NLDEV;
    if (nldev && std::count(std::begin(kReads), std::end(kReads), type & 0x3ffU) > 0) return {};
    return "RDMA netlink message " + std::to_string(type);
  }
  // Families have numbers of their own here; what asks for a dump only reads.
  if (protocol == NETLINK_GENERIC && (type == NLMSG_MIN_TYPE || (flags & NLM_F_DUMP) == NLM_F_DUMP))
    return {};
  return "netlink message " + std::to_string(type) + " of protocol " + std::to_string(protocol);
}

std::string WhatItChanges(const seccomp_data& call, const Caller& caller) {
  const auto* const known = std::find_if(std::begin(kCalls), std::end(kCalls),
                                         [&](const Call& each) { return each.number == call.nr; });
  if (known == std::end(kCalls)) return "a call that is not known";
  switch (known->kind) {
    case Kind::kOpen:
      return Opening(caller, call.args[known->flags_at - 1], call.args[known->flags_at]);
    case Kind::kWrite: return Writing(caller, call.args[0]);
    case Kind::kInspect: return Depends(caller, call);
    case Kind::kSocket: return SettingOfSocket(caller, call);
    case Kind::kNamespace:
      if (caller.may_enter_namespaces) return {};
      break;
    case Kind::kChange: break;
  }
  return known->name;
}

}  // namespace fabric::readonly
