// A library with the functions of NVML that the agent calls: two GPUs, the second of which is lost.
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kLost = 15;
constexpr unsigned kNoAttach = 2;
int g_sessions = 0;
unsigned g_flags = 0;

int Say(const char* text, char* to, unsigned bytes) {
  if (std::strlen(text) >= bytes) return kInvalidArgument;
  std::strcpy(to, text);
  return kSuccess;
}

struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char address[32];
};

}  // namespace

extern "C" {

int nvmlInitWithFlags(unsigned flags) {
  g_flags = flags;
  ++g_sessions;
  return kSuccess;
}
int nvmlShutdown() {
  --g_sessions;
  return kSuccess;
}
const char* nvmlErrorString(int code) {
  return code == kLost ? "GPU is lost" : "Invalid argument";
}
int nvmlSystemGetDriverVersion(char* to, unsigned bytes) {
  return Say("535.129.03", to, bytes);
}
// With the number of open sessions, so that a test can see that each one was closed.
int nvmlSystemGetNVMLVersion(char* to, unsigned bytes) {
  return Say(g_sessions == 1 ? "12.535.129.03" : "sessions were left open", to, bytes);
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = (g_flags & kNoAttach) != 0 ? 0 : 2;  // As the library of driver 580
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  static int gpu = 0;
  if (index != 0) return kLost;
  *device = &gpu;
  return kSuccess;
}
int nvmlDeviceGetPciInfo_v3(void*, PciInfo* info) {
  *info = {};
  info->domain = 1;
  info->bus = 0x1b;
  return kSuccess;
}
int nvmlDeviceGetName(void*, char* to, unsigned bytes) {
  return Say("NVIDIA H100 80GB HBM3", to, bytes);
}
int nvmlDeviceGetUUID(void*, char* to, unsigned bytes) {
  return Say("GPU-5b0c77a4", to, bytes);
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, unsigned* active) {
  if (link >= 18) return kInvalidArgument;
  *active = link == 3 ? 0 : 1;
  return kSuccess;
}

int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 12020;
  return kSuccess;
}
int nvmlDeviceGetBoardPartNumber(void*, char* to, unsigned bytes) {
  return Say("692-2G520-0200-000", to, bytes);
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned link, PciInfo* info) {
  if (link == 3) return kLost;
  *info = {};
  info->bus = 0x7 + link % 4;
  return kSuccess;
}
// Counts CRC errors of data on link 5 only, and has no counter of recoveries.
int nvmlDeviceGetNvLinkErrorCounter(void*, unsigned link, int counter, unsigned long long* value) {
  if (counter == 1) return kInvalidArgument;
  *value = link == 5 && counter == 3 ? 77 : 0;
  return kSuccess;
}

}  // extern "C"
