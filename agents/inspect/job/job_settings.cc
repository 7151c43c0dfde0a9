#include "agents/inspect/job/job_settings.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/lists.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::size_t kValueMax = 512;
constexpr const char* kConfFile = "etc/nccl.conf";

// Sorted.
constexpr std::string_view kVariables[] = {
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "NCCL_ALGO",
    "NCCL_CROSS_NIC",
    "NCCL_DMABUF_ENABLE",
    "NCCL_IB_ADAPTIVE_ROUTING",
    "NCCL_IB_ADDR_FAMILY",
    "NCCL_IB_ADDR_RANGE",
    "NCCL_IB_AR_THRESHOLD",
    "NCCL_IB_CUDA_SUPPORT",
    "NCCL_IB_DISABLE",
    "NCCL_IB_FIFO_TC",
    "NCCL_IB_GID_INDEX",
    "NCCL_IB_HCA",
    "NCCL_IB_MERGE_NICS",
    "NCCL_IB_MERGE_VFS",
    "NCCL_IB_PCI_RELAXED_ORDERING",
    "NCCL_IB_PKEY",
    "NCCL_IB_QPS_PER_CONNECTION",
    "NCCL_IB_RETRY_CNT",
    "NCCL_IB_ROCE_VERSION_NUM",
    "NCCL_IB_SL",
    "NCCL_IB_SPLIT_DATA_ON_QPS",
    "NCCL_IB_TC",
    "NCCL_IB_TIMEOUT",
    "NCCL_NET",
    "NCCL_NET_DISABLE_INTRA",
    "NCCL_NET_FORCE_FLUSH",
    "NCCL_NET_GDR_C2C",
    "NCCL_NET_GDR_LEVEL",
    "NCCL_NET_GDR_READ",
    "NCCL_NET_MERGE_LEVEL",
    "NCCL_NET_PLUGIN",
    "NCCL_NVLS_ENABLE",
    "NCCL_P2P_DISABLE",
    "NCCL_P2P_LEVEL",
    "NCCL_P2P_PXN_LEVEL",
    "NCCL_PROTO",
    "NCCL_PXN_DISABLE",
    "NCCL_SHM_DISABLE",
    "NCCL_SOCKET_FAMILY",
    "NCCL_SOCKET_IFNAME",
    "NCCL_TOPO_FILE",
    "NVSHMEM_ENABLE_NIC_PE_MAPPING",
    "NVSHMEM_HCA_LIST",
    "NVSHMEM_HCA_PE_MAPPING",
    "NVSHMEM_IB_ENABLE_IBGDA",
    "NVSHMEM_IB_GID_INDEX",
    "NVSHMEM_IB_SL",
    "NVSHMEM_IB_TRAFFIC_CLASS",
    "NVSHMEM_REMOTE_TRANSPORT",
    "RCCL_NET_GDR_LEVEL",
    "ROCR_VISIBLE_DEVICES",
    "UCX_IB_GID_INDEX",
    "UCX_IB_HOP_LIMIT",
    "UCX_IB_PKEY",
    "UCX_IB_ROCE_LOCAL_SUBNET",
    "UCX_IB_ROCE_REACHABILITY_MODE",
    "UCX_IB_SL",
    "UCX_IB_TRAFFIC_CLASS",
    "UCX_NET_DEVICES",
    "UCX_RC_PATH_MTU",
    "UCX_RC_RETRY_COUNT",
    "UCX_RC_TIMEOUT",
    "UCX_TLS",
};

std::optional<v1::JobVariable> TakeVariable(std::string_view line, std::string_view source) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view name = Trim(line.substr(0, equals));
  if (!std::binary_search(std::begin(kVariables), std::end(kVariables), name)) return std::nullopt;
  v1::JobVariable variable;
  variable.set_name(std::string(name));
  for (const char c : Trim(line.substr(equals + 1)).substr(0, kValueMax))
    variable.mutable_value()->push_back(c < ' ' || c > '~' ? '?' : c);
  variable.set_source(std::string(source));
  return variable;
}

template <class T>
void SortByName(std::vector<T>& list) {
  std::stable_sort(list.begin(), list.end(),
                   [](const T& a, const T& b) { return a.name() < b.name(); });
  list.erase(std::unique(list.begin(), list.end(),
                         [](const T& a, const T& b) { return a.name() == b.name(); }),
             list.end());
}

constexpr std::string_view kLibraries[] = {"libibverbs", "libmlx5", "libnccl", "librccl", "libucp"};

// Files of rdma-core have its version as the last numbers: libibverbs.so.1.14.39.0 is 39.0.
void SetPackageVersion(v1::JobLibrary& library) {
  if (library.name() != "libibverbs" && library.name() != "libmlx5") return;
  const auto parts = Split(library.version(), '.');
  if (parts.size() < 3) return;
  std::string version(parts[2]);
  if (parts.size() > 3 && parts[3] != "0") version += Format(".{}", parts[3]);
  library.set_package_version(version);
}

// Wheels of Python have a file libnccl.so.2, and the version in a directory next to "nvidia/".
void FindPackageVersion(const Host& host, const std::string& root, v1::JobLibrary& library) {
  const std::size_t at = library.path().find("/nvidia/nccl/lib/");
  if (library.name() != "libnccl" || library.version().find('.') != std::string::npos ||
      at == std::string::npos)
    return;
  const Result<Dir> packages = host.root.Sub(root + library.path().substr(1, at));
  const auto names = packages.ok() ? packages->Names() : packages.status();
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>())
    if (const std::string version = VersionOfPackage(name); !version.empty())
      library.set_version(version);
}

void KeepNewest(v1::JobLibrary library, std::map<std::string, v1::JobLibrary>& newest) {
  v1::JobLibrary& known = newest[library.name()];
  if (known.name().empty() || NaturalLess(known.version(), library.version()))
    known = std::move(library);
}

}  // namespace

std::vector<v1::JobVariable> ParseEnvironment(std::string_view environ) {
  std::vector<v1::JobVariable> variables;
  for (const std::string_view entry : Split(environ, '\0'))
    if (auto variable = TakeVariable(entry, "environment")) variables.push_back(*variable);
  SortByName(variables);
  return variables;
}

std::vector<v1::JobVariable> ParseNcclConf(std::string_view text) {
  std::vector<v1::JobVariable> variables;
  for (const std::string_view line : Split(text, '\n'))
    if (auto variable = TakeVariable(line.substr(0, line.find('#')), Format("/{}", kConfFile)))
      variables.push_back(*variable);
  SortByName(variables);
  return variables;
}

v1::JobLibrary LibraryOfFile(std::string_view file_name) {
  v1::JobLibrary library;
  constexpr std::string_view kSuffix = ".so.";
  const std::size_t at = file_name.find(kSuffix);
  if (at == std::string_view::npos) return library;
  const std::string_view name = file_name.substr(0, at);
  const std::string_view version = file_name.substr(at + kSuffix.size());
  if (std::find(std::begin(kLibraries), std::end(kLibraries), name) == std::end(kLibraries) ||
      version.find_first_not_of("0123456789.") != std::string_view::npos)
    return library;
  library.set_name(std::string(name));
  // One number is that of the interface.
  if (version.find('.') != std::string_view::npos) library.set_version(std::string(version));
  SetPackageVersion(library);
  return library;
}

std::vector<v1::JobLibrary> LibrariesOfMaps(std::string_view maps) {
  std::map<std::string, v1::JobLibrary> newest;
  for (const std::string_view line : Split(maps, '\n')) {
    const std::size_t slash = line.find('/');
    if (slash == std::string_view::npos || line.find(".so.", slash) == std::string_view::npos)
      continue;
    const std::string_view path = line.substr(slash, line.find(" (deleted)") - slash);
    v1::JobLibrary library = LibraryOfFile(path.substr(path.rfind('/') + 1));
    if (library.name().empty()) continue;
    library.set_path(std::string(path));
    library.set_mapped(true);
    KeepNewest(std::move(library), newest);
  }
  std::vector<v1::JobLibrary> libraries;
  for (auto& [name, library] : newest) libraries.push_back(std::move(library));
  return libraries;
}

std::string VersionOfPackage(std::string_view directory_name) {
  constexpr std::string_view kSuffix = ".dist-info";
  if (!directory_name.starts_with("nvidia_nccl_") || !directory_name.ends_with(kSuffix)) return {};
  directory_name.remove_suffix(kSuffix.size());
  const std::string_view version = directory_name.substr(directory_name.rfind('-') + 1);
  const bool number = version.find_first_not_of("0123456789.") == std::string_view::npos;
  return number ? std::string(version) : std::string();
}

std::vector<v1::JobLibrary> InstalledLibraries(const Host& host, const std::string& root) {
  std::map<std::string, v1::JobLibrary> newest;
  for (const char* directory : {"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu",
                                "usr/lib64", "usr/local/lib", "opt/rocm/lib"}) {
    const Result<Dir> dir = host.root.Sub(root + directory);
    const auto names = dir.ok() ? dir->Names() : dir.status();
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      v1::JobLibrary library = LibraryOfFile(name);
      if (library.name().empty() || !library.has_version()) continue;
      library.set_path(Format("/{}/{}", directory, name));
      KeepNewest(std::move(library), newest);
    }
  }
  std::vector<v1::JobLibrary> libraries;
  for (auto& [name, library] : newest) libraries.push_back(std::move(library));
  return libraries;
}

JobSettings ReadJobSettings(const Host& host, std::uint32_t pid) {
  JobSettings settings;
  const std::string directory = Format("proc/{}/", pid);
  const std::string root = directory + "root/";
  if (const Result<std::string> text = host.root.Whole(directory + "environ"); text.ok())
    settings.variables = ParseEnvironment(*text);
  else
    settings.environment = text.status();
  if (const Result<std::string> conf = host.root.Whole(root + kConfFile); conf.ok())
    for (v1::JobVariable& variable : ParseNcclConf(*conf))
      settings.variables.push_back(std::move(variable));
  SortByName(settings.variables);  // Stable: the environment comes first.
  if (const Result<std::string> maps = host.root.Whole(directory + "maps"); maps.ok())
    settings.libraries = LibrariesOfMaps(*maps);
  for (v1::JobLibrary& library : settings.libraries) FindPackageVersion(host, root, library);
  for (v1::JobLibrary& library : InstalledLibraries(host, root))
    settings.libraries.push_back(std::move(library));
  SortByName(settings.libraries);  // Mapped ones come first.
  return settings;
}

}  // namespace fabric::inspect
