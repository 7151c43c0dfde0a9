#include <algorithm>
#include <map>

#include "agents/inspect/attributes.h"
#include "agents/inspect/job/job_settings.h"
#include "agents/inspect/parse/host_texts.h"
#include "agents/inspect/parse/parse.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kRdmaStackName = "rdma_stack";
constexpr char kOutOfTree = 'O';  // Of the taints: Documentation/admin-guide/tainted-kernels.rst

std::optional<std::string> SomeText(const Host& host, const std::string& path) {
  Result<std::string> text = host.root.Text(path);
  if (!text.ok() || text->empty()) return std::nullopt;
  return *std::move(text);
}

bool IsLines(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](char c) { return c == '\n' || c == '\t' || (c >= ' ' && c <= '~'); });
}

struct StackModules {
  std::map<std::string, v1::KernelModule> by_name;
  bool complete = true;  // False: one that is not there may be loaded all the same.
};

// From proc/modules; from sys/module for built-in modules and trees without proc/modules.
StackModules ReadModules(const Host& host, const Gaps& gaps) {
  StackModules result;
  auto& modules = result.by_name;
  Result<std::string> listed = host.root.Whole("proc/modules");
  if (listed.ok() && !IsLines(*listed)) {
    listed = Status(Code::kDataLoss, "expected text");
    gaps.Add("proc/modules", listed.status());
  }
  for (const ModuleLine& line : ParseProcModules(listed.ok() ? *listed : "")) {
    if (!ModuleMatters(line.name) || !IsPlainName(line.name)) continue;
    v1::KernelModule& module = modules[line.name];
    module.set_out_of_tree(line.flags.find(kOutOfTree) != std::string::npos);
    for (const std::string& user : line.used_by)
      if (IsPlainName(user)) module.add_used_by(user);
  }
  const Result<Dir> dir = host.root.Sub("sys/module");
  const Result<std::vector<std::string>> names = dir.ok() ? dir->Names() : dir.status();
  // There for every kernel with modules: whoever captured it captured all.
  const bool all = dir.ok() && (!host.captured || dir->Has("kernel"));
  result.complete = listed.ok() || all;
  if (!result.complete && listed.status().code() != Code::kDataLoss)
    gaps.Add("proc/modules", listed.status());
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    if (!ModuleMatters(name) || !IsPlainName(name)) continue;
    v1::KernelModule& module = modules[name];
    if (module.has_out_of_tree()) continue;
    const Result<std::string> taint = dir->Text(name + "/taint");
    // Only a module that was loaded has it; others are part of the kernel. Captures leave files
    // out.
    if (taint.ok())
      module.set_out_of_tree(taint->find(kOutOfTree) != std::string::npos);
    else if (!host.captured)
      module.set_out_of_tree(false);
    const Result<Dir> holders = dir->Sub(name + "/holders");
    const Result<std::vector<std::string>> users =
        holders.ok() ? holders->Names() : holders.status();
    for (const std::string& user : users.ok() ? *users : std::vector<std::string>())
      if (IsPlainName(user)) module.add_used_by(user);
  }
  for (auto& [name, module] : modules) {
    module.set_name(name);
    std::sort(module.mutable_used_by()->begin(), module.mutable_used_by()->end());
    if (auto version = SomeText(host, "sys/module/" + name + "/version"))
      module.set_version(*std::move(version));
  }
  return result;
}

// mlx5_core and mlx4_core of the kernel had a version up to 5.6, which said nothing; OFED's is that
// of the release, "5.8-1.1.2", "24.10-0.7.0".
bool IsInboxVersion(std::string_view version) {
  constexpr std::string_view kInbox[] = {"2.2-1", "3.0-1", "4.0-0", "5.0-0"};
  return std::find(std::begin(kInbox), std::end(kInbox), version) != std::end(kInbox);
}

struct Verdict {
  std::optional<v1::RdmaStack> stack;
  std::string reason;
};

// The core of RDMA decides: OFED brings its own. A vendor's driver alone can be out of tree on top
// of the kernel's core.
Verdict DecideStack(const std::map<std::string, v1::KernelModule>& modules, bool complete) {
  for (const char* name : {"ib_core", "mlx5_core", "mlx5_ib", "mlx4_core"}) {
    const auto found = modules.find(name);
    if (found == modules.end() || !found->second.has_out_of_tree()) continue;
    if (found->second.out_of_tree())
      return {v1::RDMA_STACK_OFED, Format("{} is loaded and out of tree", name)};
    if (std::string_view(name) == "ib_core" || !modules.contains("ib_core"))
      return {v1::RDMA_STACK_INBOX, Format("{} is the kernel's own", name)};
  }
  if (modules.contains("mlx_compat"))
    return {v1::RDMA_STACK_OFED, "mlx_compat is loaded, which only OFED has"};
  for (const char* name : {"mlx5_core", "mlx4_core"}) {
    const auto found = modules.find(name);
    if (found == modules.end() || !found->second.has_version()) continue;
    if (IsInboxVersion(found->second.version()))
      return {v1::RDMA_STACK_INBOX,
              Format("{} has version {}, the kernel's own", name, found->second.version())};
    return {v1::RDMA_STACK_OFED, Format("{} has version {}, not one of the kernel's own", name,
                                        found->second.version())};
  }
  if (!modules.contains("ib_core"))
    return {std::nullopt, complete ? "ib_core is not loaded" : "loaded kernel modules unknown"};
  return {std::nullopt, "unknown whether ib_core is the kernel's own"};
}

void ReadLibraries(const Host& host, v1::HostFacts& facts) {
  for (const v1::JobLibrary& library : InstalledLibraries(host, ""))
    if (library.name() == "libibverbs" && library.has_package_version())
      facts.set_rdma_core_version(library.package_version());
  if (const auto conf = host.root.Whole("etc/nccl.conf"); conf.ok())
    for (v1::JobVariable& variable : ParseNcclConf(*conf)) facts.add_nccl_conf()->Swap(&variable);
}

Status InspectRdmaStack(const Host& host, v1::NodeSnapshot& out) {
  const Gaps gaps{.snapshot = out, .inspector = kRdmaStackName, .subject = ""};
  const auto [modules, complete] = ReadModules(host, gaps);
  v1::HostFacts& facts = *out.mutable_host();
  for (const auto& [name, module] : modules) *facts.add_modules() = module;

  const Verdict verdict = DecideStack(modules, complete);
  std::string reason = verdict.reason;
  if (!verdict.stack && complete && !modules.contains("ib_core") && !out.rdma_devices().empty())
    reason = "there are RDMA devices, but ib_core is not among the modules";
  // Not run: it is a script that prints what it holds, written by OFED's installation.
  const Result<std::string> script = host.root.Whole("usr/bin/ofed_info");
  const std::string installed = script.ok() ? VersionOfOfedInfo(*script) : std::string();
  if (verdict.stack) facts.set_rdma_stack(*verdict.stack);
  if (verdict.stack == v1::RDMA_STACK_OFED) {
    const auto core = modules.find(modules.contains("mlx5_core") ? "mlx5_core" : "mlx4_core");
    const std::string loaded = core == modules.end() ? "" : core->second.version();
    if (!installed.empty() && installed.find(loaded) != std::string::npos)
      facts.set_rdma_stack_version(installed);
    else if (!loaded.empty())
      facts.set_rdma_stack_version(loaded);
    if (!installed.empty() && installed.find(loaded) == std::string::npos)
      reason += Format("; ofed_info reports {}, which is not loaded", installed);
  } else if (!installed.empty()) {
    reason += Format("; {} is installed but not loaded", installed);
  }
  facts.set_rdma_stack_reason(reason);
  ReadLibraries(host, facts);
  return {};
}

}  // namespace

extern const Inspector rdma_stack = {
    .name = kRdmaStackName,
    .doc = "Kernel modules of RDMA, NICs and GPUs; whether the RDMA stack is OFED's or inbox.",
    .inspect = InspectRdmaStack,
    .wakes = EventKind::kModule | EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kHostFieldNumber},
};

}  // namespace fabric::inspect
