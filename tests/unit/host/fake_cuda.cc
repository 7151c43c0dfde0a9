// A library with the functions of CUDA's driver that the agent calls: one GPU, 0000:1b:00.0, whose
// memory is the process's own, and 0000:1c:00.0, which has fallen off the bus. A dma-buf of the GPU
// is an empty file. Made twice: with FAKE_OLD it is of a time before dma-bufs.
#include <fcntl.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kNoDevice = 100;
constexpr int kInvalidContext = 201;
constexpr std::size_t kMemoryMax = std::size_t{1} << 30;
int g_context = 0;
int g_retained = 0;
int g_allocated = 0;
thread_local int g_pushed = 0;

}  // namespace

extern "C" {

// For tests: what has not been given back.
int fakeLeft() {
  return g_retained + g_allocated;
}

int cuInit(unsigned flags) {
  return flags == 0 ? kSuccess : kInvalidValue;
}
int cuGetErrorName(int code, const char** text) {
  *text = code == kNoDevice         ? "CUDA_ERROR_NO_DEVICE"
          : code == kOutOfMemory    ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == kInvalidContext ? "CUDA_ERROR_INVALID_CONTEXT"
                                    : "CUDA_ERROR_INVALID_VALUE";
  return kSuccess;
}
int cuGetErrorString(int code, const char** text) {
  *text = code == kNoDevice ? "no CUDA-capable device is detected" : "something else";
  return kSuccess;
}
int cuDeviceGetByPCIBusId(int* device, const char* address) {
  *device = 7;
  return std::strcmp(address, "0000:1b:00.0") == 0 ? kSuccess : kNoDevice;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (device != 7) return kInvalidValue;
  *context = &g_context;
  ++g_retained;
  return kSuccess;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  --g_retained;
  return device == 7 ? kSuccess : kInvalidValue;
}
int cuCtxPushCurrent_v2(void* context) {
  if (context != &g_context) return kInvalidContext;
  ++g_pushed;
  return kSuccess;
}
int cuCtxPopCurrent_v2(void** context) {
  *context = &g_context;
  return --g_pushed < 0 ? kInvalidContext : kSuccess;
}
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  if (g_pushed != 1) return kInvalidContext;
  if (bytes > kMemoryMax) return kOutOfMemory;
  *address = reinterpret_cast<std::uintptr_t>(std::aligned_alloc(std::size_t{2} << 20, bytes));
  ++g_allocated;
  return kSuccess;
}
int cuMemFree_v2(std::uint64_t address) {
  if (g_pushed != 1) return kInvalidContext;
  std::free(reinterpret_cast<void*>(address));
  --g_allocated;
  return kSuccess;
}
int cuMemsetD8_v2(std::uint64_t address, unsigned char value, std::size_t bytes) {
  if (g_pushed != 1) return kInvalidContext;
  std::memset(reinterpret_cast<void*>(address), value, bytes);
  return kSuccess;
}
int cuPointerSetAttribute(const void* value, int attribute, std::uint64_t) {
  unsigned on = 0;
  std::memcpy(&on, value, sizeof on);
  return g_pushed == 1 && attribute == 6 && on == 1 ? kSuccess : kInvalidValue;
}
#ifndef FAKE_OLD
int cuMemGetHandleForAddressRange(void* file, std::uint64_t address, std::size_t bytes, int type,
                                  unsigned long long flags) {
  if (g_pushed != 1) return kInvalidContext;
  if (type != 1 || flags != 0 || address % 4096 != 0 || bytes % 4096 != 0) return kInvalidValue;
  const int made = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  std::memcpy(file, &made, sizeof made);
  return kSuccess;
}
#endif

}  // extern "C"
