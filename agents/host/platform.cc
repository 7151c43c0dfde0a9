#include "agents/host/platform.h"

#include <sys/timex.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace fabric::host {
namespace {

class LivePlatform final : public Platform {
 public:
  Result<ClockState> Clock() override {
    timex state{};  // No mode bit: it is only read.
    if (::adjtimex(&state) < 0) return FromErrno(errno, "adjtimex");
    const bool nanoseconds = (state.status & STA_NANO) != 0;
    return ClockState{.synchronized = (state.status & STA_UNSYNC) == 0,
                      .offset = nanoseconds ? std::chrono::nanoseconds(state.offset)
                                            : std::chrono::microseconds(state.offset),
                      .max_error = std::chrono::microseconds(state.maxerror)};
  }

  Result<std::string> Hypervisor() override {
#if defined(__x86_64__)
    std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
    constexpr std::uint32_t kHypervisorBit = 1U << 31;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0)
      return Status(Code::kUnimplemented, "CPUID has no leaf 1");
    if ((ecx & kHypervisorBit) == 0) return std::string("none");
    __cpuid(0x40000000, eax, ebx, ecx, edx);
    std::array<char, 12> signature{};
    std::memcpy(signature.data(), &ebx, sizeof(ebx));
    std::memcpy(signature.data() + 4, &ecx, sizeof(ecx));
    std::memcpy(signature.data() + 8, &edx, sizeof(edx));
    return HypervisorOfSignature({signature.data(), signature.size()});
#else
    return Status(Code::kUnimplemented, "this processor does not report virtualization");
#endif
  }
};

class AbsentPlatform final : public Platform {
 public:
  Result<ClockState> Clock() override { return Absent(); }
  Result<std::string> Hypervisor() override { return Absent(); }

 private:
  static Status Absent() { return {Code::kUnimplemented, "not available in a captured tree"}; }
};

}  // namespace

std::string HypervisorOfSignature(std::string_view signature) {
  struct Known {
    std::string_view signature;  // Its beginning
    std::string_view name;
  };
  constexpr Known kKnown[] = {
      {"KVMKVMKVM", "kvm"},       {"Linux KVM Hv", "kvm"},       {"TCGTCGTCGTCG", "qemu"},
      {"VMwareVMware", "vmware"}, {"Microsoft Hv", "microsoft"}, {"XenVMMXenVMM", "xen"},
      {"bhyve bhyve ", "bhyve"},  {"ACRNACRNACRN", "acrn"},      {"prl hyperv", "parallels"},
  };
  for (const Known& known : kKnown)
    if (signature.starts_with(known.signature)) return std::string(known.name);
  return "vm-other";
}

std::unique_ptr<Platform> OpenPlatform() {
  return std::make_unique<LivePlatform>();
}

std::unique_ptr<Platform> NoPlatform() {
  return std::make_unique<AbsentPlatform>();
}

}  // namespace fabric::host
