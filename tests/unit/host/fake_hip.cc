// A library with the functions of HIP and of HSA that the agent calls: one GPU, 0000:c1:00.0, whose
// memory is the process's own. A dma-buf of it is an empty file, in which the memory begins at 4096
// by HSA and at 0 by HIP. With FAKE_NO_HSA it has no functions of HSA, with FAKE_OLD none for
// dma-bufs at all.
#include <fcntl.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kNoDevice = 100;
thread_local int g_device = -1;

}  // namespace

extern "C" {

int hipInit(unsigned flags) {
  return flags == 0 ? kSuccess : kInvalidValue;
}
const char* hipGetErrorString(int code) {
  return code == kNoDevice ? "no ROCm-capable device is detected" : "invalid argument";
}
int hipDeviceGetByPCIBusId(int* device, const char* address) {
  *device = 2;
  return std::strcmp(address, "0000:c1:00.0") == 0 ? kSuccess : kNoDevice;
}
int hipSetDevice(int device) {
  g_device = device;
  return kSuccess;
}
int hipMalloc(void** address, std::size_t bytes) {
  if (g_device != 2) return kNoDevice;
  *address = std::aligned_alloc(4096, bytes);
  return kSuccess;
}
int hipFree(void* address) {
  std::free(address);
  return kSuccess;
}
int hipMemset(void* address, int value, std::size_t bytes) {
  std::memset(address, value, bytes);
  return kSuccess;
}
#ifndef FAKE_OLD
int hipMemGetHandleForAddressRange(void* file, void*, std::size_t, int type,
                                   unsigned long long flags) {
  if (type != 1 || flags != 0) return kInvalidValue;
  const int made = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  std::memcpy(file, &made, sizeof made);
  return kSuccess;
}
#endif
#ifndef FAKE_NO_HSA
int hsa_amd_portable_export_dmabuf(const void*, std::size_t, int* file, std::uint64_t* offset) {
  *file = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  *offset = 4096;
  return kSuccess;
}
#endif

}  // extern "C"
