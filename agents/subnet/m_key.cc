#include "agents/subnet/m_key.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "agents/host/sysfs.h"
#include "base/text.h"

namespace fabric::agent {

Result<std::uint64_t> ReadMKey(const std::string& path) {
  const host::Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return FromErrno(errno, path);
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return FromErrno(errno, path);
  if (!S_ISREG(info.st_mode))
    return Status(Code::kInvalidArgument, path + ": expected a regular file");
  if ((info.st_mode & 077) != 0 || (info.st_uid != geteuid() && info.st_uid != 0))
    return Status(
        Code::kPermissionDenied,
        Format("{}: expected a file of this user or root with mode 0600 or 0400, saw mode "
               "{:04o} of user {}",
               path, info.st_mode & 07777, info.st_uid));
  char text[64];
  const ssize_t size = read(fd.get(), text, sizeof(text));
  if (size < 0) return FromErrno(errno, path);
  const std::string_view line = Trim(std::string_view(text, static_cast<std::size_t>(size)));
  const auto key = ParseNumber<std::uint64_t>(line, 16);
  if (!key.ok())
    return Status(Code::kInvalidArgument,
                  path + ": expected an M_Key of up to 16 hexadecimal digits");
  return *key;
}

}  // namespace fabric::agent
