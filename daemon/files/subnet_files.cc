#include "daemon/files/subnet_files.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/input.h"
#include "base/text.h"
#include "proto/timestamps.h"
#include "subnet/changes.h"
#include "subnet/files/formats.h"

namespace fabric {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kProblemsKept = 50;
constexpr std::size_t kWorstPorts = 16;  // Of a subnet, with series in /metrics

bool IsSkipped(const std::string& name) {
  return name.starts_with('.') || name.ends_with(".new") || name.ends_with(".tmp");
}

Result<std::string> ReadText(const std::string& path) {
  return ReadFile(path, subnet::kFileBytesMax);
}

// The time of the newest state that the files can show: their oldest one.
WallTime MadeAtOf(const subnet::Subnet& subnet) {
  WallTime made_at = WallTime::max();
  for (const subnet::Source& source : subnet.sources())
    made_at = std::min(made_at, MadeAt(source.made_on, StateOf(source.file).modified_at));
  return made_at;
}

// Of two readings of one subnet, the last one is used.
std::vector<std::string> OldestFirst(std::vector<std::string> files) {
  std::ranges::stable_sort(files, {},
                           [](const std::string& file) { return StateOf(file).modified_at; });
  return files;
}

void AddProblems(const subnet::Problems& problems, SubnetReading& reading) {
  reading.problem_count += problems.count();
  for (const subnet::Problem& problem : problems.kept())
    if (reading.problems.size() < kProblemsKept)
      reading.problems.push_back(subnet::ToString(problem));
}

}  // namespace

Result<SubnetFiles::Listing> SubnetFiles::List() const {
  std::error_code error;
  if (!fs::is_directory(path_, error)) return Listing{{"", {.files = {path_}, .plan = ""}}};
  Listing listing;
  fs::recursive_directory_iterator entries(path_, error);
  for (const auto end = fs::recursive_directory_iterator(); !error && entries != end;
       entries.increment(error)) {
    const fs::path& path = entries->path();
    const bool skipped = IsSkipped(path.filename());
    if (entries->is_directory(error)) {
      if (skipped || entries.depth() > 0) entries.disable_recursion_pending();
      continue;
    }
    if (skipped || error) continue;
    Paths& paths = listing[entries.depth() == 0 ? "" : path.parent_path().filename().string()];
    if (path.stem() == "plan")
      paths.plan = path;
    else
      paths.files.push_back(path);
    if (listing.size() > kSubnetsMax || paths.files.size() > kFilesMax)
      return Status(Code::kResourceExhausted,
                    Format("{}: expected at most {} subdirectories with {} files each, saw more",
                           path_, kSubnetsMax, kFilesMax));
  }
  if (error) return FromErrno(error.value(), path_);
  std::erase_if(listing, [](const auto& each) { return each.second.files.empty(); });
  if (listing.empty()) return Status(Code::kNotFound, path_ + ": expected a file, saw none");
  for (auto& [name, paths] : listing) std::ranges::sort(paths.files);
  return listing;
}

std::vector<SubnetFiles::Version> SubnetFiles::VersionsOf(const Paths& paths) {
  std::vector<Version> versions;
  for (const std::string& file : paths.files) versions.emplace_back(file, StateOf(file));
  if (!paths.plan.empty()) versions.emplace_back(paths.plan, StateOf(paths.plan));
  return versions;
}

Status SubnetFiles::ReadSubnet(const std::string& name, const Paths& paths,
                               SubnetReading& reading) {
  ASSIGN_OR_RETURN(subnet::Subnet subnet, subnet::ReadFiles(OldestFirst(paths.files), ReadText));
  AddProblems(subnet.problems(), reading);
  std::optional<subnet::Plan> plan;
  if (!paths.plan.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadText(paths.plan));
    ASSIGN_OR_RETURN(plan, subnet::ReadPlan(paths.plan, text));
    AddProblems(plan->problems, reading);
  }
  ASSIGN_OR_RETURN(subnet::Frame outline,
                   subnet::Compress(subnet::OutlineOf(subnet).SerializeAsString(), {}));
  Known& known = known_[name];
  known.outline = std::move(outline);
  known.checks = subnet::Evaluate(subnet, plan ? &*plan : nullptr, expected_);
  known.made_at = MadeAtOf(subnet);
  known.subnet = std::move(subnet);
  return {};
}

SubnetReading SubnetFiles::Combined(SubnetReading reading) const {
  std::vector<const subnet::Subnet*> subnets;
  Evaluations checks;
  WallTime made_at = WallTime::max();
  for (const Subnets* const all : {&known_, &live_})
    for (const auto& [name, known] : *all) {
      subnets.push_back(&known.subnet);
      checks.emplace_back(name, &known.checks);
      made_at = std::min(made_at, known.made_at);
    }
  reading.topology = fleet::InfinibandTopology::Of(subnets);
  reading.topology.set_made_at(made_at);
  reading.checks = subnet::Combine(checks);
  for (const auto& [name, known] : known_)
    reading.files.push_back({.info = InfoOf(name, known), .outline = known.outline});
  return reading;
}

v1::SubnetInfo SubnetFiles::InfoOf(const std::string& name, const Known& known) const {
  v1::SubnetInfo info = Describe(known.subnet);
  info.set_name(name.empty() ? fs::path(path_).stem().string() : name);
  info.set_source(name.empty() ? path_ : (fs::path(path_) / name).string());
  *info.mutable_read_at() = ToProto(known.made_at);
  return info;
}

void SubnetFiles::Judge(const std::string& name) {
  Known& known = live_.at(name);
  subnet::Expectations expected = expected_;
  if (const auto problem = problems_.find(name); problem != problems_.end())
    expected.not_read_now = Format("subnet {} was last read at {}: {}", name,
                                   fabric::ToString(ToProto(known.made_at)), problem->second);
  expected.managers_before = known.managers_before;
  expected.managers_before_s = known.managers_before_s;
  subnet::Plan plan;
  if (plan_) plan = subnet::PlanFor(*plan_, known.subnet);
  known.checks = subnet::Evaluate(known.subnet, plan.cables.empty() ? nullptr : &plan, expected);
}

Status SubnetFiles::ReadPlanFile(SubnetReading& reading) {
  const std::string& path = plan_file_.path();
  ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  ASSIGN_OR_RETURN(plan_, subnet::ReadPlan(path, text));
  AddProblems(plan_->problems, reading);
  for (const auto& [name, known] : live_) Judge(name);
  return {};
}

void SubnetFiles::PutLive(const std::string& name, subnet::Subnet subnet, WallTime read_at) {
  Known known{.subnet = std::move(subnet), .checks = {}, .made_at = read_at};
  if (const auto before = live_.find(name); before != live_.end()) {
    known.managers_before = before->second.subnet.managers();
    known.managers_before_s =
        std::chrono::duration<double>(read_at - before->second.made_at).count();
  }
  live_.insert_or_assign(name, std::move(known));
  Judge(name);
}

const subnet::Subnet* SubnetFiles::Live(const std::string& name) const {
  const auto at = live_.find(name);
  return at == live_.end() ? nullptr : &at->second.subnet;
}

void SubnetFiles::DropLive(const std::string& name) {
  live_.erase(name);
  problems_.erase(name);
}

bool SubnetFiles::SetProblems(std::map<std::string, std::string> problems) {
  std::swap(problems, problems_);
  bool changed = false;
  for (const auto& [name, known] : live_) {
    const auto before = problems.find(name);
    const auto now = problems_.find(name);
    const bool same = before == problems.end()
                          ? now == problems_.end()
                          : now != problems_.end() && now->second == before->second;
    if (same) continue;
    Judge(name);
    changed = true;
  }
  return changed;
}

bool SubnetFiles::SetLimits(const v1::Expectations& profile) {
  std::optional<double> raw_ber;
  std::optional<double> symbol_errors;
  std::optional<double> xmit_wait;
  if (profile.has_raw_ber_max()) raw_ber = profile.raw_ber_max();
  if (profile.has_symbol_errors_max_per_hour())
    symbol_errors = profile.symbol_errors_max_per_hour();
  if (profile.has_xmit_wait_max_percent()) xmit_wait = profile.xmit_wait_max_percent();
  if (std::tie(raw_ber, symbol_errors, xmit_wait) == std::tie(expected_.raw_ber_max,
                                                              expected_.symbol_errors_max_per_hour,
                                                              expected_.xmit_wait_max_percent))
    return false;
  expected_.raw_ber_max = raw_ber;
  expected_.symbol_errors_max_per_hour = symbol_errors;
  expected_.xmit_wait_max_percent = xmit_wait;
  read_.clear();
  for (const auto& [name, known] : live_) Judge(name);
  return !live_.empty();
}

v1::SubnetInfo Describe(const subnet::Subnet& subnet) {
  v1::SubnetInfo info;
  info.set_switches(static_cast<std::uint32_t>(subnet.CountNodes(subnet::NodeType::kSwitch)));
  info.set_adapters(static_cast<std::uint32_t>(subnet.CountNodes(subnet::NodeType::kAdapter)));
  info.set_cables(static_cast<std::uint32_t>(subnet.Cables().size()));
  for (v1::SubnetPortErrors& errors : subnet::WorstPorts(subnet, kWorstPorts))
    info.mutable_port_errors()->Add(std::move(errors));
  return info;
}

Result<SubnetReading> SubnetFiles::Read() {
  looked_.clear();
  read_.clear();
  SubnetReading reading;
  if (!plan_file_.path().empty()) {
    plan_file_.Note();
    if (Status read = ReadPlanFile(reading); !read.ok()) reading.errors.push_back(std::move(read));
  }
  Listing listing;
  if (!path_.empty()) {
    ASSIGN_OR_RETURN(listing, List());
  }
  for (const auto& [name, paths] : listing) {
    read_[name] = looked_[name] = VersionsOf(paths);
    if (const Status read = ReadSubnet(name, paths, reading); !read.ok())
      reading.errors.push_back(read);
  }
  return Combined(std::move(reading));
}

std::optional<Result<SubnetReading>> SubnetFiles::ReadWhenChanged() {
  SubnetReading reading;
  const bool new_plan = plan_file_.Changed();
  if (new_plan)
    if (Status read = ReadPlanFile(reading); !read.ok()) reading.errors.push_back(std::move(read));
  const bool changed = !path_.empty() && ReadChanged(reading);
  if (!changed && !new_plan) return std::nullopt;
  return Combined(std::move(reading));
}

bool SubnetFiles::ReadChanged(SubnetReading& reading) {
  const auto listing = List();
  // Subnets stay as they are while their files are missing.
  if (!listing.ok()) return false;
  // A subdirectory that was removed is a subnet less; a missing path is an error below.
  std::error_code error;
  bool changed = fs::is_directory(path_, error) && std::erase_if(known_, [&](const auto& known) {
                                                     return !listing->contains(known.first);
                                                   }) > 0;
  for (const auto& [name, paths] : *listing) {
    std::vector<Version> now = VersionsOf(paths);
    const bool is_new = now != read_[name];
    if (now != std::exchange(looked_[name], now) || !is_new) continue;
    read_[name] = std::move(now);
    changed = true;
    if (const Status read = ReadSubnet(name, paths, reading); !read.ok())
      reading.errors.push_back(read);
  }
  return changed;
}

WallTime MadeAt(const std::string& generated_on, WallTime modified_at) {
  tm local{};
  local.tm_isdst = -1;
  const char* const end = strptime(generated_on.c_str(), "%a %b %d %H:%M:%S %Y", &local);
  if (end == nullptr) return modified_at;
  const time_t seconds = mktime(&local);
  if (seconds < 0) return modified_at;
  return std::min(modified_at, WallTime(std::chrono::seconds(seconds)));
}

}  // namespace fabric
