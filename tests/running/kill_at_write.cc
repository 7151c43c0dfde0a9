// Preloaded into a program: kills it right before its KILL_AT-th change of a file, as kill -9 does.
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

void Count() {
  static const long kill_at = [] {
    const char* const text = secure_getenv("KILL_AT");
    return text == nullptr ? 0 : std::atol(text);
  }();
  static std::atomic<long> changes{0};
  if (++changes == kill_at) kill(getpid(), SIGKILL);
}

void CountIfFile(int fd) {
  struct stat file {};
  if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode)) Count();
}

template <class Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t write(int fd, const void* from, size_t bytes) {
  CountIfFile(fd);
  return Next<decltype(&write)>("write")(fd, from, bytes);
}
ssize_t pwrite(int fd, const void* from, size_t bytes, off_t offset) {
  CountIfFile(fd);
  return Next<decltype(&pwrite)>("pwrite")(fd, from, bytes, offset);
}
ssize_t pwrite64(int fd, const void* from, size_t bytes, off64_t offset) {
  CountIfFile(fd);
  return Next<decltype(&pwrite64)>("pwrite64")(fd, from, bytes, offset);
}
int fsync(int fd) {
  Count();
  return Next<decltype(&fsync)>("fsync")(fd);
}
int fdatasync(int fd) {
  Count();
  return Next<decltype(&fdatasync)>("fdatasync")(fd);
}
int ftruncate(int fd, off_t size) noexcept {
  Count();
  return Next<int (*)(int, off_t)>("ftruncate")(fd, size);
}
int ftruncate64(int fd, off64_t size) noexcept {
  Count();
  return Next<int (*)(int, off64_t)>("ftruncate64")(fd, size);
}
int rename(const char* from, const char* to) noexcept {
  Count();
  return Next<int (*)(const char*, const char*)>("rename")(from, to);
}
int link(const char* from, const char* to) noexcept {
  Count();
  return Next<int (*)(const char*, const char*)>("link")(from, to);
}
int unlink(const char* path) noexcept {
  Count();
  return Next<int (*)(const char*)>("unlink")(path);
}
}
