#include "agents/inspect/parse/host_texts.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::uint64_t kKib = 1024;

// What a shell would make of the right side of an assignment, as far as os-release may hold it.
std::string Unquoted(std::string_view value) {
  value = Trim(value);
  const bool quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
                      value.back() == value.front();
  const bool escapes = !quoted || value.front() == '"';
  if (quoted) value = value.substr(1, value.size() - 2);
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (escapes && value[i] == '\\' && i + 1 < value.size()) ++i;
    text += value[i];
  }
  return text;
}

struct Bound {
  bool unlimited = false;
  std::uint64_t bytes = 0;
};

enum class Side { kSoft, kHard, kBoth };

// Updates one or both sides of a limit. Unlimited when both sides are.
class LimitBuilder {
 public:
  void Set(Side side, Bound bound) {
    if (side != Side::kHard) soft_ = bound;
    if (side != Side::kSoft) hard_ = bound;
  }
  bool any() const { return soft_ || hard_; }

  void ApplyTo(std::optional<v1::MemoryLimit>& limit, std::string_view source) const {
    if (!any()) return;
    Bound unlimited{.unlimited = true};
    std::optional<Bound> soft = soft_;
    std::optional<Bound> hard = hard_;
    if (limit) {  // The side that this file does not set stays.
      if (!soft && limit->has_soft_bytes()) soft = Bound{.bytes = limit->soft_bytes()};
      if (!hard && limit->has_hard_bytes()) hard = Bound{.bytes = limit->hard_bytes()};
      if (limit->unlimited() && !soft) soft = unlimited;
      if (limit->unlimited() && !hard) hard = unlimited;
    }
    v1::MemoryLimit& out = limit.emplace();
    out.set_source(std::string(source));
    if (soft && !soft->unlimited) out.set_soft_bytes(soft->bytes);
    if (hard && !hard->unlimited) out.set_hard_bytes(hard->bytes);
    out.set_unlimited(soft && soft->unlimited && hard && hard->unlimited);
  }

 private:
  std::optional<Bound> soft_;
  std::optional<Bound> hard_;
};

std::optional<Bound> BoundOf(std::string_view text, std::uint64_t unit) {
  if (text == "unlimited" || text == "infinity" || text == "-1") return Bound{.unlimited = true};
  const Result<std::uint64_t> number = ParseNumber<std::uint64_t>(text);
  if (!number.ok() || *number > std::numeric_limits<std::uint64_t>::max() / unit)
    return std::nullopt;
  return Bound{.bytes = *number * unit};
}

// "8M", "infinity": the multiples of systemd.syntax(7), to the base of 1024.
std::optional<Bound> SystemdBound(std::string_view text) {
  constexpr std::string_view kSuffixes = "KMGTPE";
  std::uint64_t unit = 1;
  if (!text.empty()) {
    const std::size_t suffix = kSuffixes.find(text.back());
    if (suffix != std::string_view::npos) {
      for (std::size_t i = 0; i <= suffix; ++i) unit *= kKib;
      text.remove_suffix(1);
    }
  }
  return BoundOf(text, unit);
}

void SetSystemdLimit(std::string_view value, LimitBuilder& limit) {
  const std::size_t colon = value.find(':');
  if (colon == std::string_view::npos) {
    if (const auto both = SystemdBound(value)) limit.Set(Side::kBoth, *both);
    return;
  }
  const auto soft = SystemdBound(Trim(value.substr(0, colon)));
  const auto hard = SystemdBound(Trim(value.substr(colon + 1)));
  if (!soft || !hard) return;
  limit.Set(Side::kSoft, *soft);
  limit.Set(Side::kHard, *hard);
}

}  // namespace

std::map<std::string, std::string> ParseOsRelease(std::string_view text) {
  std::map<std::string, std::string> values;
  for (const std::string_view line : Split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || Trim(line).starts_with('#')) continue;
    values[std::string(Trim(line.substr(0, equals)))] = Unquoted(line.substr(equals + 1));
  }
  return values;
}

std::vector<ModuleLine> ParseProcModules(std::string_view text) {
  // "mlx5_core 2100000 1 mlx5_ib, Live 0x0000000000000000 (OE)"; what uses it is "-" when nothing
  // does.
  constexpr std::size_t kUsedBy = 3;
  std::vector<ModuleLine> modules;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() <= kUsedBy || !ParseNumber<std::uint64_t>(words[1]).ok()) continue;
    ModuleLine& module = modules.emplace_back();
    module.name = std::string(words[0]);
    for (const std::string_view user : Split(words[kUsedBy], ','))
      if (!user.empty() && user != "-" && user != "[permanent]") module.used_by.emplace_back(user);
    const std::string_view last = words.back();
    if (words.size() > kUsedBy + 1 && last.starts_with('(') && last.ends_with(')'))
      module.flags = std::string(last.substr(1, last.size() - 2));
  }
  return modules;
}

bool ModuleMatters(std::string_view name) {
  constexpr std::string_view kFamilies[] = {"mlx4_", "mlx5_",    "ib_", "rdma_", "bnxt_",
                                            "ionic", "hns_roce", "qed", "nvidia"};
  constexpr std::string_view kModules[] = {
      "8021q",      "amdgpu",  "amdkfd", "be2net",      "bonding",   "cxgb4",      "efa",
      "erdma",      "gdrdrv",  "hfi1",   "hns3",        "i40e",      "i40iw",      "ice",
      "idpf",       "irdma",   "iw_cm",  "iw_cxgb4",    "ko2iblnd",  "mana",       "mana_ib",
      "mlx_compat", "mlxdevm", "mlxfw",  "nv_peer_mem", "nvme_rdma", "nvmet_rdma", "ocrdma",
      "rdmavt",     "rpcrdma", "siw",    "vfio_pci"};
  return std::any_of(std::begin(kFamilies), std::end(kFamilies),
                     [&](std::string_view family) { return name.starts_with(family); }) ||
         std::find(std::begin(kModules), std::end(kModules), name) != std::end(kModules);
}

Result<v1::MemoryLimit> ParseProcLimits(std::string_view text) {
  constexpr std::string_view kKey = "Max locked memory";
  for (const std::string_view line : Split(text, '\n')) {
    if (!line.starts_with(kKey)) continue;
    const std::vector<std::string_view> words = Words(line.substr(kKey.size()));
    if (words.size() < 2) break;
    const auto soft = BoundOf(words[0], 1);
    const auto hard = BoundOf(words[1], 1);
    if (!soft || !hard) break;
    LimitBuilder builder;
    builder.Set(Side::kSoft, *soft);
    builder.Set(Side::kHard, *hard);
    std::optional<v1::MemoryLimit> limit;
    builder.ApplyTo(limit, "");
    return *std::move(limit);
  }
  return Status(Code::kInvalidArgument, "expected a line \"Max locked memory\" with two limits");
}

void ApplyLimitsConf(std::string_view text, std::string_view source,
                     std::optional<v1::MemoryLimit>& limit) {
  LimitBuilder builder;
  for (std::string_view line : Split(text, '\n')) {
    line = line.substr(0, line.find('#'));
    const std::vector<std::string_view> words = Words(line);
    if (words.size() != 4 || words[0] != "*" || words[2] != "memlock") continue;
    const auto bound = BoundOf(words[3], kKib);
    if (!bound) continue;
    if (words[1] == "-") builder.Set(Side::kBoth, *bound);
    if (words[1] == "soft") builder.Set(Side::kSoft, *bound);
    if (words[1] == "hard") builder.Set(Side::kHard, *bound);
  }
  builder.ApplyTo(limit, source);
}

void ApplySystemdConf(std::string_view text, std::string_view source, bool comments_are_defaults,
                      std::optional<v1::MemoryLimit>& limit) {
  constexpr std::string_view kKey = "DefaultLimitMEMLOCK";
  LimitBuilder compiled;
  LimitBuilder set;
  bool manager = false;
  for (std::string_view line : Split(text, '\n')) {
    line = Trim(line);
    if (line.starts_with('[')) manager = line == "[Manager]";
    if (!manager) continue;
    const bool comment = line.starts_with('#') || line.starts_with(';');
    if (comment) line = Trim(line.substr(1));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || Trim(line.substr(0, equals)) != kKey) continue;
    const std::string_view value = Trim(line.substr(equals + 1));
    if (!comment) SetSystemdLimit(value, set);
    if (comment && comments_are_defaults) SetSystemdLimit(value, compiled);
  }
  const bool nothing_set = !limit;
  if (nothing_set) compiled.ApplyTo(limit, Format("{} (compiled-in default)", source));
  set.ApplyTo(limit, source);
  if (limit) limit->set_is_default(set.any() ? false : nothing_set || limit->is_default());
}

std::string VersionOfOfedInfo(std::string_view script) {
  // `if [ "X$1" == "X-s" ]; then echo MLNX_OFED_LINUX-5.8-1.1.2.1:; exit 0; fi`, or the heading
  // of its list, "OFED-internal-24.01-0.3.3:".
  for (const std::string_view line : Split(script, '\n'))
    for (std::string_view word : Words(line)) {
      while (word.starts_with('"')) word.remove_prefix(1);
      word = word.substr(0, word.find_first_of(":;\""));
      const std::size_t dash = word.rfind("OFED");
      if (dash != std::string_view::npos && word.find('-', dash) != std::string_view::npos &&
          word.find_first_of("0123456789") != std::string_view::npos &&
          word.find('/') == std::string_view::npos)
        return std::string(word);
    }
  return "";
}

Result<std::vector<std::uint32_t>> NumbersOfList(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  if (Trim(text).empty()) return numbers;
  for (const std::string_view range : Split(Trim(text), ',')) {
    const std::size_t dash = range.find('-');
    ASSIGN_OR_RETURN(const std::uint32_t first, ParseNumber<std::uint32_t>(range.substr(0, dash)));
    std::uint32_t last = first;
    if (dash != std::string_view::npos) {
      ASSIGN_OR_RETURN(last, ParseNumber<std::uint32_t>(range.substr(dash + 1)));
    }
    constexpr std::uint32_t kNumberMax = 1 << 16;
    const bool ascends = numbers.empty() || first > numbers.back();
    if (last < first || last >= kNumberMax || !ascends)
      return Status(Code::kInvalidArgument,
                    "expected a list of ascending ranges, saw " + Quoted(text));
    for (std::uint32_t number = first; number <= last; ++number) numbers.push_back(number);
  }
  return numbers;
}

Result<std::uint32_t> CountOfList(std::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<std::uint32_t> numbers, NumbersOfList(text));
  if (numbers.empty())
    return Status(Code::kInvalidArgument, "expected a list of ranges, saw " + Quoted(text));
  return static_cast<std::uint32_t>(numbers.size());
}

std::string ListOfNumbers(const std::vector<std::uint32_t>& numbers) {
  std::string list;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t first = i;
    while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + 1) ++i;
    if (!list.empty()) list += ",";
    list += i == first ? Format("{}", numbers[first]) : Format("{}-{}", numbers[first], numbers[i]);
  }
  return list;
}

std::optional<std::uint64_t> MeminfoBytes(std::string_view text, std::string_view key) {
  for (const std::string_view line : Split(text, '\n')) {
    if (!line.starts_with(key) || line.substr(key.size(), 1) != ":") continue;
    const std::vector<std::string_view> words = Words(line.substr(key.size() + 1));
    if (words.size() != 2 || words[1] != "kB") return std::nullopt;
    const auto bytes = BoundOf(words[0], kKib);
    if (!bytes) return std::nullopt;
    return bytes->bytes;
  }
  return std::nullopt;
}

std::optional<std::string> CommandLineValue(std::string_view command_line, std::string_view key) {
  std::optional<std::string> value;
  for (const std::string_view word : Words(command_line)) {
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos && word.substr(0, equals) == key)
      value = std::string(word.substr(equals + 1));
  }
  return value;
}

std::optional<std::string> CgroupPath(std::string_view text, std::string_view controller) {
  // "12:devices:/system.slice/x.service"; version 2 is "0::/system.slice/x.service".
  for (const std::string_view line : Split(text, '\n')) {
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const auto controllers = Split(line.substr(first + 1, second - first - 1), ',');
    if (std::find(controllers.begin(), controllers.end(), controller) == controllers.end())
      continue;
    const std::string_view path = Trim(line.substr(second + 1));
    // "/.." is above the cgroup namespace that we are in, where there is nothing to read.
    if (!path.starts_with('/') || path.find("/..") != std::string_view::npos) return std::nullopt;
    return std::string(path);
  }
  return std::nullopt;
}

std::string_view HypervisorOfDmi(std::string_view vendor, std::string_view product) {
  struct Known {
    std::string_view vendor;
    std::string_view product;  // Its beginning; empty: any
    std::string_view name;
  };
  // With the vendors that also sell machines of metal, the product decides.
  constexpr Known kKnown[] = {
      {"QEMU", "", "kvm"},
      {"Red Hat", "KVM", "kvm"},
      {"KVM", "", "kvm"},
      {"OpenStack Foundation", "", "kvm"},
      {"Nutanix", "AHV", "kvm"},
      {"Google", "Google Compute Engine", "kvm"},
      {"VMware", "", "vmware"},
      {"Microsoft Corporation", "Virtual Machine", "microsoft"},
      {"Xen", "", "xen"},
      {"innotek GmbH", "", "oracle"},
      {"Parallels", "", "parallels"},
      {"Bochs", "", "bochs"},
      {"BHYVE", "", "bhyve"},
  };
  for (const Known& known : kKnown)
    if (vendor.starts_with(known.vendor) && product.starts_with(known.product)) return known.name;
  return "";
}

namespace {

// arch/arm64/include/asm/cputype.h of the kernel; parts of servers.
struct ArmPart {
  std::uint32_t implementer;
  std::uint32_t part;
  std::string_view name;
};
constexpr ArmPart kArmParts[] = {
    {0x41, 0xd07, "Cortex-A57"},    {0x41, 0xd08, "Cortex-A72"},  {0x41, 0xd0c, "Neoverse-N1"},
    {0x41, 0xd40, "Neoverse-V1"},   {0x41, 0xd49, "Neoverse-N2"}, {0x41, 0xd4f, "Neoverse-V2"},
    {0x41, 0xd83, "Neoverse-V3AE"}, {0x41, 0xd84, "Neoverse-V3"}, {0x41, 0xd8e, "Neoverse-N3"},
    {0x43, 0x0af, "ThunderX2"},     {0x46, 0x001, "A64FX"},       {0x48, 0xd01, "TSV110"},
    {0x4e, 0x004, "Carmel"},        {0xc0, 0xac3, "Ampere-1"},    {0xc0, 0xac4, "Ampere-1A"},
    {0xc0, 0xac5, "Ampere-1B"},
};

// The value of the first line "KEY : value".
std::string_view CpuinfoValue(std::string_view cpuinfo, std::string_view key) {
  for (const std::string_view line : Split(cpuinfo, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && Trim(line.substr(0, colon)) == key)
      return Trim(line.substr(colon + 1));
  }
  return {};
}

std::optional<std::uint32_t> HexNumber(std::string_view text) {
  if (!text.starts_with("0x")) return {};
  const auto number = ParseNumber<std::uint32_t>(text.substr(2), 16);
  return number.ok() ? std::optional(*number) : std::nullopt;
}

}  // namespace

std::optional<std::string> CpuModel(std::string_view cpuinfo) {
  constexpr std::size_t kNameBytesMax = 128;
  const std::string_view name = CpuinfoValue(cpuinfo, "model name");
  const bool printable =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (!name.empty())
    return printable && name.size() <= kNameBytesMax ? std::optional(std::string(name))
                                                     : std::nullopt;
  const auto implementer = HexNumber(CpuinfoValue(cpuinfo, "CPU implementer"));
  const auto part = HexNumber(CpuinfoValue(cpuinfo, "CPU part"));
  for (const ArmPart& known : kArmParts)
    if (implementer == known.implementer && part == known.part) return std::string(known.name);
  return std::nullopt;
}

std::optional<bool> HypervisorFlag(std::string_view cpuinfo) {
  for (const std::string_view line : Split(cpuinfo, '\n')) {
    if (!line.starts_with("flags")) continue;
    const std::vector<std::string_view> words = Words(line);
    return std::find(words.begin(), words.end(), "hypervisor") != words.end();
  }
  return std::nullopt;
}

}  // namespace fabric::inspect
