// System calls to check. All others change neither files nor settings.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

namespace fabric::readonly {

enum class Kind {
  kOpen,       // Flags are the argument `flags_at`: writing, creating and truncating are checked.
  kWrite,      // To a descriptor above standard error
  kInspect,    // Depends on memory contents: ioctl, messages
  kSocket,     // setsockopt
  kNamespace,  // setns, unshare, mount
  kChange,     // Always a change
};

struct Call {
  const char* name;
  long number;
  Kind kind;
  int flags_at = 0;
};

inline constexpr Call kCalls[] = {
    {"openat", SYS_openat, Kind::kOpen, 2},
    {"openat2", SYS_openat2, Kind::kInspect},
// Not every architecture has these.
#ifdef SYS_open
    {"open", SYS_open, Kind::kOpen, 1},
    {"creat", SYS_creat, Kind::kChange},
    {"mkdir", SYS_mkdir, Kind::kChange},
    {"rmdir", SYS_rmdir, Kind::kChange},
    {"unlink", SYS_unlink, Kind::kChange},
    {"rename", SYS_rename, Kind::kChange},
    {"link", SYS_link, Kind::kChange},
    {"symlink", SYS_symlink, Kind::kChange},
    {"mknod", SYS_mknod, Kind::kChange},
    {"chmod", SYS_chmod, Kind::kChange},
    {"chown", SYS_chown, Kind::kChange},
    {"lchown", SYS_lchown, Kind::kChange},
    {"utime", SYS_utime, Kind::kChange},
    {"utimes", SYS_utimes, Kind::kChange},
    {"futimesat", SYS_futimesat, Kind::kChange},
#endif
    {"write", SYS_write, Kind::kWrite},
    {"writev", SYS_writev, Kind::kWrite},
    {"pwrite64", SYS_pwrite64, Kind::kWrite},
    {"pwritev", SYS_pwritev, Kind::kWrite},
    {"pwritev2", SYS_pwritev2, Kind::kWrite},
    {"sendfile", SYS_sendfile, Kind::kWrite},
    {"ioctl", SYS_ioctl, Kind::kInspect},
    {"sendto", SYS_sendto, Kind::kInspect},
    {"sendmsg", SYS_sendmsg, Kind::kInspect},
    {"sendmmsg", SYS_sendmmsg, Kind::kInspect},
    {"adjtimex", SYS_adjtimex, Kind::kInspect},
    {"setsockopt", SYS_setsockopt, Kind::kSocket},
    {"setns", SYS_setns, Kind::kNamespace},
    {"unshare", SYS_unshare, Kind::kNamespace},
    {"mount", SYS_mount, Kind::kNamespace},
    {"umount2", SYS_umount2, Kind::kChange},
    {"mkdirat", SYS_mkdirat, Kind::kChange},
    {"unlinkat", SYS_unlinkat, Kind::kChange},
    {"renameat", SYS_renameat, Kind::kChange},
    {"renameat2", SYS_renameat2, Kind::kChange},
    {"linkat", SYS_linkat, Kind::kChange},
    {"symlinkat", SYS_symlinkat, Kind::kChange},
    {"mknodat", SYS_mknodat, Kind::kChange},
    {"fchmod", SYS_fchmod, Kind::kChange},
    {"fchmodat", SYS_fchmodat, Kind::kChange},
    {"fchown", SYS_fchown, Kind::kChange},
    {"fchownat", SYS_fchownat, Kind::kChange},
    {"utimensat", SYS_utimensat, Kind::kChange},
    {"truncate", SYS_truncate, Kind::kChange},
    {"ftruncate", SYS_ftruncate, Kind::kChange},
    {"fallocate", SYS_fallocate, Kind::kChange},
    {"setxattr", SYS_setxattr, Kind::kChange},
    {"lsetxattr", SYS_lsetxattr, Kind::kChange},
    {"fsetxattr", SYS_fsetxattr, Kind::kChange},
    {"removexattr", SYS_removexattr, Kind::kChange},
    {"init_module", SYS_init_module, Kind::kChange},
    {"finit_module", SYS_finit_module, Kind::kChange},
    {"delete_module", SYS_delete_module, Kind::kChange},
    {"sethostname", SYS_sethostname, Kind::kChange},
    {"clock_settime", SYS_clock_settime, Kind::kChange},
    {"clock_adjtime", SYS_clock_adjtime, Kind::kInspect},
    {"settimeofday", SYS_settimeofday, Kind::kChange},
    {"syslog", SYS_syslog, Kind::kInspect},
    {"ptrace", SYS_ptrace, Kind::kChange},
    {"bpf", SYS_bpf, Kind::kChange},
    {"perf_event_open", SYS_perf_event_open, Kind::kChange},
    {"io_uring_setup", SYS_io_uring_setup, Kind::kChange},  // Would go past this list.
};

}  // namespace fabric::readonly
