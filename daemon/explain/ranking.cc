#include "daemon/explain/ranking.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/text.h"

namespace fabric::explain {
namespace {

using enum Cause;

// Problems this much later than the first failure are its consequences.
constexpr double kLateSeconds = 60;
constexpr std::size_t kCausesMax = 8;
constexpr std::size_t kCausesOfLaterProblems = 2;
constexpr int kStatedCausesMax = 4;
// Of RoCE v2 over IPv4 where nothing else has been configured.
constexpr std::string_view kUsualGidIndex = "3";
// Library of the table of storage over RDMA.
constexpr std::string_view kStorageOfKernel = "storage, switches";
// Up to this size, a passed message size shows that only large messages fail.
constexpr std::uint64_t kSmallMessageBytes = 64 << 10;

bool NoAnswer(const Problem& problem) {
  return problem.status != nullptr &&
         (problem.status->number == 12 || problem.status->number == 20);
}

bool Connecting(const Problem& problem) {
  return problem.id.starts_with("modify_qp") || problem.id.starts_with("rtr_") ||
         problem.id.starts_with("ucx_address") || problem.id.starts_with("ucx_modify");
}

// An event of the same HCA if both are known, else of any HCA.
const DeviceEvent* Nearest(const std::vector<DeviceEvent>& events, const Problem& problem) {
  for (const DeviceEvent& event : events)
    if (problem.hosts.names().contains(event.host) && problem.hcas.names().contains(event.hca))
      return &event;
  return events.empty() ? nullptr : &events.front();
}

v1::LogEvidence EventEvidence(const DeviceEvent& event, std::string_view what) {
  const std::string host = event.host.empty() ? std::string() : Format(" of {}", event.host);
  return EvidenceAt(event.where,
                    Format("{}{} {}", event.hca.empty() ? "a port" : event.hca, host, what));
}

void AddressHints(const Context& context, Problem& problem) {
  using enum Hint::Weight;
  if (!NoAnswer(problem) && !Connecting(problem)) return;
  if (const DeviceEvent* event = Nearest(context.port_events, problem))
    problem.Add({kLinkUnstable, kStrong, EventEvidence(*event, "lost its link")});
  if (const DeviceEvent* event = Nearest(context.gid_changes, problem))
    problem.Add({kGidIndexMoved, kStrong, EventEvidence(*event, "has another GID table now")});
  if (context.gid_index_set && !context.infiniband) {
    const Said& said = *context.gid_index_set;
    problem.Add({kGidNotRoutable, said.what == kUsualGidIndex ? kWeak : kStrong,
                 EvidenceAt(said.where, Format("NCCL_IB_GID_INDEX is set to {}", said.what))});
  }
  // The lines that show RoCE and settings have one level: no line means no setting.
  if (context.gid_index_zero && !context.gid_index_set && context.roce && !context.infiniband) {
    const Said& said = *context.gid_index_zero;
    problem.Add({kGidNotRoutable, kStrong,
                 EvidenceAt(said.where, Format("NCCL {} uses GID index 0 by default", said.what))});
  }
  if (problem.subnets_differ) {
    const auto& reported = context.cross_nic ? context.cross_nic : context.pxn_disabled;
    // A peer in another subnet is not a neighbor that could be silent.
    const auto may_be = [&](Cause cause) {
      return std::ranges::find(problem.causes, cause) != std::end(problem.causes);
    };
    const bool silent = may_be(kNeighbourSilent) && may_be(kCrossRail) && !may_be(kNoRoute);
    problem.Add({kCrossRail, reported || silent ? kStrong : kWeak, *problem.subnets_differ});
    if (reported)
      problem.Add(
          {kCrossRail, kWeak,
           EvidenceAt(reported->where, context.cross_nic ? "NCCL_CROSS_NIC lets rails mix"
                                                         : "NCCL_PXN_DISABLE lets rails mix")});
  }
}

void SetupHints(const Context& context, Problem& problem) {
  using enum Hint::Weight;
  const bool connection = problem.status != nullptr || Connecting(problem);
  if (context.mixed_link_layers && connection)
    problem.Add({kMixedLinkLayers, kStrong,
                 EvidenceAt(context.mixed_link_layers->where,
                            Format("HCAs in use are {}", context.mixed_link_layers->what))});
  if (context.size_passed && NoAnswer(problem)) {
    const Said& said = *context.size_passed;
    const v1::LogEvidence evidence =
        EvidenceAt(said.where, Format("messages of up to {} bytes passed", said.what));
    const bool small = context.size_passed_bytes <= kSmallMessageBytes;
    problem.Add({small ? kMtu : kPfc, small ? kStrong : kWeak, evidence});
    problem.Add({kGidNotRoutable, kAgainst, {}});
    problem.Add({kNoRoute, kAgainst, {}});
  }
  // Storage of the kernel: its memory is that of the host.
  if (problem.library == kStorageOfKernel && problem.status != nullptr)
    for (const Cause cause : {kAcs, kPeermemNotRegistered, kGpuFailed})
      problem.Add({cause, kAgainst, {}});
  const bool gpu_memory = problem.id == "gdr_disabled" || problem.id == "reg_mr_address";
  if (context.amd_gpu && gpu_memory)
    problem.Add({kPeermemAmd, kStrong, EvidenceAt(context.amd_gpu->where, "AMD GPUs")});
  if (context.gpu_buffer && problem.id == "mr_failed")
    problem.Add({kPeermemNotLoaded, kStrong,
                 EvidenceAt(context.gpu_buffer->where, "the memory is that of a GPU")});
  if (problem.id != "gdr_disabled" || context.gdr_enabled.empty()) return;
  for (const auto& [host, where] : context.gdr_enabled)
    if (problem.hosts.names().contains(host) || host.empty()) {
      problem.Add({kGdrPlugin, kStrong, EvidenceAt(where, "the same node says it is enabled")});
      return;
    }
  const auto& [host, where] = *context.gdr_enabled.begin();
  problem.Add({kPeermemNotLoaded, kStrong, EvidenceAt(where, Format("{} has it enabled", host))});
}

// Failures of several node pairs do not have one cable as the cause.
void SpreadHints(Problem& problem) {
  const std::size_t hosts = problem.hosts.names().size();
  const std::size_t peers = problem.peers.names().size();
  if (NoAnswer(problem) && hosts >= 3 && peers >= 3 && problem.hints.empty())
    problem.Add(
        {kPfc, Hint::Weight::kWeak,
         EvidenceAt({}, Format("{} hosts fail towards {} peers: not one cable", hosts, peers))});
}

bool CanBe(Cause cause, const Problem& problem, const Context& context) {
  const bool roce = problem.roce || (context.roce && !context.infiniband);
  const bool infiniband =
      !problem.roce && (problem.infiniband || (context.infiniband && !context.roce));
  switch (Info(cause).fabric) {
    case Fabric::kAny: return true;
    case Fabric::kRoce: return !infiniband;
    case Fabric::kInfiniband: return !roce;
  }
  return true;
}

std::vector<Cause> OrderedCauses(const Problem& problem, const Context& context) {
  std::vector<Cause> ordered;
  const auto place = [&](Cause cause, std::size_t at) {
    if (!CanBe(cause, problem, context)) return;
    std::erase(ordered, cause);
    ordered.insert(ordered.begin() + static_cast<std::ptrdiff_t>(std::min(at, ordered.size())),
                   cause);
  };
  for (const Cause cause : problem.causes)
    if (cause != kNone) place(cause, ordered.size());
  const auto has = [&](Cause cause, Hint::Weight weight) {
    return std::ranges::any_of(problem.hints, [&](const Hint& hint) {
      return hint.cause == cause && hint.weight == weight;
    });
  };
  const auto refuted = [&](Cause cause) { return has(cause, Hint::Weight::kAgainst); };
  std::size_t front = 0;
  for (const Hint& hint : problem.hints)
    if (hint.weight == Hint::Weight::kStrong && !refuted(hint.cause) &&
        CanBe(hint.cause, problem, context))
      place(hint.cause, front++);
  const auto second = static_cast<std::ptrdiff_t>(std::max<std::size_t>(front, 1));
  for (const Hint& hint : problem.hints) {
    if (hint.weight != Hint::Weight::kWeak || has(hint.cause, Hint::Weight::kStrong) ||
        refuted(hint.cause))
      continue;
    if (std::ranges::find(ordered, hint.cause) - ordered.begin() > second || ordered.empty())
      place(hint.cause, static_cast<std::size_t>(second));
  }
  std::stable_partition(ordered.begin(), ordered.end(),
                        [&](Cause cause) { return !refuted(cause); });
  if (!ordered.empty() && refuted(ordered.front())) ordered.clear();
  return ordered;
}

// 0 is nearest to the root cause.
int ClassOf(const Problem& problem, const LogTime& first_failure, bool any_primary) {
  switch (problem.role) {
    case Role::kCause: {
      const bool late = problem.first_time.ComparesWith(first_failure) &&
                        problem.first_time.seconds > first_failure.seconds + kLateSeconds;
      return late ? 2 : 0;
    }
    case Role::kFailure: return 1;
    case Role::kSlow: return 4;
    case Role::kNotice: return 5;
    case Role::kConsequence: return any_primary ? 6 : 3;
    case Role::kContext: break;
  }
  return 7;
}

bool IsPrimary(const Problem& problem) {
  return problem.role == Role::kCause || problem.role == Role::kFailure;
}

// By time if all times have one scale, else by order of reading.
template <class Problems, class Less>
void SortByTime(Problems& problems, Less before) {
  const bool timed = std::ranges::all_of(problems, [&](const Problem& problem) {
    return problem.first_time.ComparesWith(problems.front().first_time);
  });
  std::ranges::stable_sort(problems, [&](const Problem& a, const Problem& b) {
    if (const int order = before(a, b); order != 0) return order < 0;
    if (timed && a.first_time.seconds != b.first_time.seconds)
      return a.first_time.seconds < b.first_time.seconds;
    return a.sequence < b.sequence;
  });
}

void Sort(std::vector<Problem>& problems) {
  LogTime first_failure;
  for (const Problem& problem : problems)
    if (problem.role == Role::kFailure && (first_failure.scale == LogTime::Scale::kNone ||
                                           (problem.first_time.ComparesWith(first_failure) &&
                                            problem.first_time.seconds < first_failure.seconds)))
      first_failure = problem.first_time;
  const bool any_primary = std::ranges::any_of(problems, IsPrimary);
  SortByTime(problems, [&](const Problem& a, const Problem& b) {
    return ClassOf(a, first_failure, any_primary) - ClassOf(b, first_failure, any_primary);
  });
}

v1::LogRole RoleOf(Role role) {
  switch (role) {
    case Role::kCause: return v1::LOG_ROLE_CAUSE;
    case Role::kFailure: return v1::LOG_ROLE_FAILURE;
    case Role::kSlow: return v1::LOG_ROLE_SLOW;
    case Role::kNotice: return v1::LOG_ROLE_NOTICE;
    case Role::kConsequence: return v1::LOG_ROLE_CONSEQUENCE;
    case Role::kContext: break;
  }
  return v1::LOG_ROLE_UNSPECIFIED;
}

// Replaces the placeholders HCA, PEER and NODE in commands.
std::string WithNames(std::string_view text, const Problem& problem) {
  const v1::LogLine& place = problem.first;
  const std::string& gid = place.remote_gid();
  // Kernel lines name the netdev or the PCI address.
  const bool pci = place.hca().find(':') != std::string::npos;
  const bool kernel = problem.library == "kernel" || problem.library == "InfiniBand";
  const bool netdev = !pci && kernel && !place.hca().starts_with("mlx5_");
  const std::pair<std::string_view, std::string> names[] = {
      {"HCA", pci || netdev ? "" : place.hca()},
      {"NETDEV", netdev ? place.hca() : ""},
      {"PCI_ADDRESS", pci ? place.hca() : ""},
      {"PEER_NODE", place.peer_host().empty() ? place.peer() : place.peer_host()},
      {"PEER", !gid.empty() && !IsLinkLocal(gid) ? gid : place.peer()},
      {"NODE", place.host()}};
  const auto is_word = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  };
  std::string filled;
  while (!text.empty()) {
    std::size_t end = 0;
    while (end < text.size() && is_word(text[end])) ++end;
    std::string_view word = text.substr(0, std::max<std::size_t>(end, 1));
    text.remove_prefix(word.size());
    std::string_view name = word;
    for (const auto& [placeholder, value] : names)
      if (word == placeholder && !value.empty()) name = value;
    filled += name;
  }
  return filled;
}

bool IsSame(const v1::LogEvidence& a, const v1::LogEvidence& b) {
  return a.file() == b.file() && a.line() == b.line() && a.text() == b.text();
}

v1::LogCause& CauseIn(v1::LogExplanation& explanation, Cause cause, const Problem& problem) {
  for (v1::LogCause& known : *explanation.mutable_causes())
    if (known.id() == Info(cause).id) return known;
  v1::LogCause& added = *explanation.add_causes();
  added.set_id(std::string(Info(cause).id));
  added.set_what(std::string(Info(cause).what));
  added.set_rule(std::string(Info(cause).rule));
  added.set_check(WithNames(Info(cause).check, problem));
  added.set_fix(WithNames(Info(cause).fix, problem));
  return added;
}

void AddCauses(const Problem& problem, const std::vector<Cause>& causes, std::size_t taken,
               v1::LogExplanation& explanation) {
  for (std::size_t at = 0; at < causes.size(); ++at) {
    const bool known = std::ranges::any_of(explanation.causes(), [&](const v1::LogCause& cause) {
      return cause.id() == Info(causes[at]).id;
    });
    const bool room = explanation.causes_size() < static_cast<int>(kCausesMax);
    if (!known && (at >= taken || !room)) continue;
    v1::LogCause& cause = CauseIn(explanation, causes[at], problem);
    cause.add_problems(problem.id);
    for (const Hint& hint : problem.hints)
      if (hint.cause == causes[at] && !hint.evidence.text().empty() &&
          std::ranges::none_of(cause.evidence(), [&](const v1::LogEvidence& other) {
            return IsSame(other, hint.evidence);
          }))
        *cause.add_evidence() = hint.evidence;
  }
}

// Several lines before the first failure state a cause each: these come before the alternatives of
// the first line.
void ReserveStatedCauses(const std::vector<Problem>& problems, const Context& context,
                         v1::LogExplanation& explanation) {
  for (const Problem& problem : problems) {
    if (problem.role != Role::kCause || explanation.causes_size() == kStatedCausesMax) return;
    const std::vector<Cause> causes = OrderedCauses(problem, context);
    if (!causes.empty()) CauseIn(explanation, causes.front(), problem);
  }
}

v1::LogProblem Written(const Problem& problem, const std::vector<Cause>& causes) {
  v1::LogProblem written;
  written.set_id(problem.id);
  written.set_library(std::string(problem.library));
  written.set_title(problem.title);
  written.set_meaning(problem.meaning);
  written.set_role(RoleOf(problem.role));
  written.set_count(problem.count);
  *written.mutable_first() = problem.first;
  written.set_last_time(problem.last_time);
  for (const std::string& host : problem.hosts.names()) written.add_hosts(host);
  for (const std::string& hca : problem.hcas.names()) written.add_hcas(hca);
  for (const std::string& peer : problem.peers.names()) written.add_peers(peer);
  for (const std::uint32_t rank : problem.ranks) written.add_ranks(rank);
  written.set_more(problem.hosts.more() || problem.hcas.more() || problem.peers.more() ||
                   problem.more_ranks);
  for (const Cause cause : causes) written.add_causes(std::string(Info(cause).id));
  return written;
}

void Suspects(const Context& context, const NamedBy& named_by, v1::LogExplanation& explanation) {
  std::set<std::string, std::less<>> failed;
  for (const auto& [peer, hosts] : named_by)
    failed.insert(hosts.names().begin(), hosts.names().end());
  for (const auto& [peer, hosts] : named_by) {
    // The suspect also fails towards all others.
    const std::size_t others = failed.size() - failed.count(peer);
    const std::size_t naming = hosts.names().size() - hosts.names().count(peer);
    if (naming < 3 || naming * 2 <= others) continue;
    v1::LogSuspect& suspect = *explanation.add_suspects();
    suspect.set_node(peer);
    suspect.set_reason(
        Format("{} of {} other nodes that failed name it as their peer", naming, others));
  }
  if (failed.size() == 1 && named_by.size() >= 3 && context.hosts.size() >= 3) {
    v1::LogSuspect& suspect = *explanation.add_suspects();
    suspect.set_node(*failed.begin());
    suspect.set_reason(Format("It alone failed, towards {} peers", named_by.size()));
  }
}

}  // namespace

void Rank(std::vector<Problem> problems, const Context& context, const NamedBy& named_by,
          v1::LogExplanation& explanation) {
  for (Problem& problem : problems) {
    AddressHints(context, problem);
    SetupHints(context, problem);
    SpreadHints(problem);
  }
  Sort(problems);
  ReserveStatedCauses(problems, context, explanation);
  const bool any_primary = std::ranges::any_of(problems, IsPrimary);
  bool first = true;
  for (const Problem& problem : problems) {
    const std::vector<Cause> causes = OrderedCauses(problem, context);
    *explanation.add_problems() = Written(problem, causes);
    const bool minor = problem.role == Role::kConsequence || problem.role == Role::kNotice;
    if (first || !minor || !any_primary)
      AddCauses(problem, causes, first ? causes.size() : kCausesOfLaterProblems, explanation);
    first = false;
  }
  std::vector<Problem> primary;
  std::ranges::copy_if(problems, std::back_inserter(primary), IsPrimary);
  SortByTime(primary, [](const Problem&, const Problem&) { return 0; });
  if (!primary.empty())
    *explanation.mutable_first_failure() = primary.front().first;
  else if (!problems.empty() && problems.front().role == Role::kConsequence)
    *explanation.mutable_first_failure() = problems.front().first;
  Suspects(context, named_by, explanation);
}

}  // namespace fabric::explain
