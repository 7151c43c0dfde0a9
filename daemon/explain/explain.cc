#include "daemon/explain/explain.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "daemon/explain/context.h"
#include "daemon/explain/lines.h"
#include "daemon/explain/problem.h"
#include "daemon/explain/ranking.h"

namespace fabric::explain {
namespace {

using enum Cause;

constexpr std::size_t kTextBytesMax = 400;
constexpr std::size_t kProblemsMax = 256;
constexpr std::size_t kLineKeysMax = 1024;
constexpr std::size_t kRanksMax = 1024;
constexpr std::size_t kSubnetsMax = 65536;

// Synthetic message, derived from the list of HCAs in use.
constexpr Message kMixedDevices = {
    .id = "mixed_link_layers",
    .needle = "",
    .pattern = "",
    .role = Role::kSlow,
    .title = "InfiniBand and Ethernet HCAs are used together",
    .meaning =
        "A storage or management NIC among the fabric's takes part in collectives, or "
        "cannot be connected at all.",
    .causes = {kMixedLinkLayers}};

bool IsPlain(char c) {
  return c == '\t' ||
         (static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f);
}

// Replaces bytes that are not printable.
std::string PlainText(std::string_view text) {
  std::string plain = WithoutColours(text);
  for (char& c : plain)
    if (!IsPlain(c)) c = '?';
  return plain;
}

std::string_view Short(std::string_view text) {
  return Trim(text).substr(0, kTextBytesMax);
}

const WcStatus* StatusOf(const Fields& fields) {
  if (!fields.wc_text.empty()) return WcStatusNamed(fields.wc_text);
  if (!fields.synd.empty()) {
    const auto syndrome = ParseNumber<std::uint32_t>(fields.synd, 16);
    return syndrome.ok() ? WcStatusOfMlx5(*syndrome) : nullptr;
  }
  const auto number = ParseNumber<std::uint32_t>(fields.status);
  return number.ok() ? WcStatusOf(*number) : nullptr;
}

bool IsCompletion(const Fields& fields) {
  return !fields.wc_text.empty() || !fields.synd.empty() || !fields.status.empty();
}

// NCCL writes decimal, all others hexadecimal.
std::optional<std::uint32_t> VendorOf(const Match& match) {
  const int base = match.library == "NCCL" ? 10 : 16;
  const auto vendor = ParseNumber<std::uint32_t>(match.fields.vendor, base);
  return vendor.ok() ? std::optional(*vendor) : std::nullopt;
}

// The vendor codes of other drivers have other meanings.
bool MayBeMlx5(std::string_view hca) {
  constexpr std::string_view kOthers[] = {"bnxt_re", "irdma", "i40iw", "efa",  "ionic",
                                          "hns_",    "erdma", "qedr",  "iw_",  "cxgb",
                                          "rxe",     "siw",   "mana",  "rdmap"};
  return std::ranges::none_of(kOthers,
                              [&](std::string_view name) { return hca.starts_with(name); });
}

Problem ProblemOf(const Match& match) {
  const Message& message = *match.message;
  Problem problem;
  problem.id = message.id;
  problem.library = match.library;
  problem.role = message.role;
  problem.title = message.title;
  problem.meaning = message.meaning;
  problem.causes = message.causes;
  if (!IsCompletion(match.fields)) return problem;
  problem.status = StatusOf(match.fields);
  if (problem.status == nullptr) {
    problem.id = "completion_unknown";
    problem.title = "completion with an unknown status";
    problem.meaning = "The line is garbled, or the library is newer than this program.";
    problem.causes = {kFirmware, kVersionsDiffer};
    return problem;
  }
  const WcStatus& status = *problem.status;
  problem.id = Format("completion_{}", status.number);
  problem.title = Format("{} (status {}", status.title, status.number);
  problem.meaning = status.meaning;
  problem.causes = status.causes;
  if (status.consequence) problem.role = Role::kConsequence;
  if (const auto vendor = VendorOf(match)) {
    problem.id += Format("_{}", *vendor);
    problem.title += Format(", vendor {:#x}", *vendor);
    if (const std::string_view said = VendorSyndrome(*vendor);
        !said.empty() && MayBeMlx5(match.fields.hca))
      problem.meaning += Format(" Vendor's syndrome: {}.", said);
  }
  problem.title += ")";
  return problem;
}

}  // namespace

class Explainer::Log {
 public:
  explicit Log(Patterns& patterns) : patterns_(patterns) {}

  void BeginFile(std::string_view name) {
    EndFile();
    explanation_.add_files()->set_name(std::string(name));
    lines_ = LineSplitter();
  }

  void Add(std::string_view bytes) {
    lines_.Add(bytes, [this](std::uint64_t line, std::string_view text) { Part(line, text); });
  }

  v1::LogExplanation Finish() {
    EndFile();
    Rank(std::move(problems_), context_, named_by_, explanation_);
    if (dropped_)
      explanation_.add_notes(
          Format("More than {} kinds of messages: the rest was not looked at.", kProblemsMax));
    if (unknown_errors_ > 0)
      explanation_.add_notes(Format(
          "Lines that look like errors and are not known to this program, so that no cause is "
          "named for them: {}. The first is {}",
          unknown_errors_, first_unknown_));
    return std::move(explanation_);
  }

 private:
  v1::LogFile& File() { return *explanation_.mutable_files(explanation_.files_size() - 1); }

  void EndFile() {
    if (explanation_.files().empty()) return;
    lines_.End([this](std::uint64_t line, std::string_view text) { Part(line, text); });
    File().set_lines(lines_.lines());
    File().set_bytes(lines_.bytes());
  }

  void Part(std::uint64_t number, std::string_view text) {
    if (!patterns_.matcher.MayMatch(text)) return Unknown(number, text);
    const bool is_plain = std::ranges::all_of(text, IsPlain);  // The usual case
    const std::string made_plain = is_plain ? std::string() : PlainText(text);
    const std::string_view line = is_plain ? text : made_plain;
    const std::optional<Match> match = patterns_.matcher.Find(line);
    if (!match) return Unknown(number, line);
    const Origin origin = patterns_.origins.Read(line);
    v1::LogEvidence where;
    where.set_file(File().name());
    where.set_line(number);
    const bool was_mixed = context_.mixed_link_layers.has_value();
    context_.Take(*match, origin, where);
    if (context_.HasNotBeenUp(*match, origin)) return;
    if (!was_mixed && context_.mixed_link_layers)
      Record({.message = &kMixedDevices, .library = match->library, .fields = {}}, origin, number,
             where, line);
    if (match->message->fact == Fact::kDestination && last_completion_ < problems_.size())
      Addresses(match->fields, origin, where, problems_[last_completion_]);
    if (match->message->role == Role::kContext) return;
    if (number != last_line_) File().set_recognised(File().recognised() + 1);
    last_line_ = number;
    Record(*match, origin, number, where, line);
  }

  void Unknown(std::uint64_t number, std::string_view line) {
    if (!patterns_.matcher.LooksLikeError(line)) return;
    if (unknown_errors_++ == 0)
      first_unknown_ = Format("{}:{}: {}", File().name(), number, Short(PlainText(line)));
  }

  // Index of the problem of the line; kProblemsMax when there are too many.
  std::size_t IndexOf(const Match& match) {
    std::string key(match.message->id);
    for (const std::string_view part :
         {match.fields.status, match.fields.synd, match.fields.wc_text, match.fields.vendor})
      key.append(1, ' ').append(part);
    const auto known = index_of_line_.find(key);
    if (known != index_of_line_.end()) return known->second;
    Problem fresh = ProblemOf(match);
    const auto same = index_.find(fresh.id);
    if (same == index_.end() && problems_.size() == kProblemsMax) {
      dropped_ = true;
      return kProblemsMax;
    }
    const std::size_t at = same == index_.end() ? problems_.size() : same->second;
    if (same == index_.end()) {
      fresh.sequence = ++sequence_;
      index_.emplace(fresh.id, at);
      problems_.push_back(std::move(fresh));
    }
    if (index_of_line_.size() < kLineKeysMax) index_of_line_.emplace(std::move(key), at);
    return at;
  }

  void Record(const Match& match, const Origin& origin, std::uint64_t number,
              const v1::LogEvidence& where, std::string_view line) {
    const std::size_t at = IndexOf(match);
    if (at == kProblemsMax) return;
    Problem& problem = problems_[at];
    if (problem.status != nullptr) last_completion_ = at;
    const bool earlier = origin.time.ComparesWith(problem.first_time) &&
                         origin.time.seconds < problem.first_time.seconds;
    if (problem.count == 0 || earlier) {
      problem.first_time = origin.time;
      problem.first = LineOf(match.fields, origin, number, line);
    }
    ++problem.count;
    if (!origin.time_text.empty()) problem.last_time = origin.time_text;
    Who(match.fields, origin, problem);
    Addresses(match.fields, origin, where, problem);
    if (match.fields.detail == "RoCE") problem.roce = true;
    if (match.fields.detail == "IB") problem.infiniband = true;
    if (problem.status != nullptr && problem.status->number == 12 && VendorOf(match) == 0x83)
      problem.Add({.cause = kTrafficClass,
                   .weight = Hint::Weight::kStrong,
                   .evidence = EvidenceAt(where, "vendor syndrome 0x83")});
  }

  v1::LogLine LineOf(const Fields& fields, const Origin& origin, std::uint64_t number,
                     std::string_view line) {
    v1::LogLine place;
    place.set_file(File().name());
    place.set_line(number);
    const auto text = [](std::string_view shown) { return std::string(Short(shown)); };
    place.set_text(text(line));
    place.set_time(text(origin.time_text));
    place.set_host(text(origin.host));
    if (const auto rank = context_.RankOf(origin)) place.set_rank(*rank);
    place.set_hca(text(fields.hca));
    place.set_peer(text(fields.peer));
    place.set_peer_host(text(context_.HostOf(fields.peer)));
    place.set_local_gid(text(PlainAddress(fields.local_gid)));
    place.set_remote_gid(text(PlainAddress(fields.remote_gid)));
    return place;
  }

  void Who(const Fields& fields, const Origin& origin, Problem& problem) {
    problem.hosts.Add(Short(origin.host));
    problem.hcas.Add(Short(fields.hca));
    const auto rank = context_.RankOf(origin);
    if (rank && problem.ranks.size() < kRanksMax)
      problem.ranks.insert(*rank);
    else if (rank && !problem.ranks.contains(*rank))
      problem.more_ranks = true;
    const std::string host_of_peer = context_.HostOf(fields.peer);
    const std::string peer(
        Short(!host_of_peer.empty()
                  ? std::string_view(host_of_peer)
                  : (fields.peer.empty() ? PlainAddress(fields.remote_gid) : fields.peer)));
    problem.peers.Add(peer);
    if (problem.role != Role::kFailure || peer.empty() || peer == origin.host) return;
    if (named_by_.size() < kSubnetsMax || named_by_.contains(peer))
      named_by_[peer].Add(origin.host.empty() && rank ? Format("rank {}", *rank)
                                                      : std::string(Short(origin.host)));
  }

  // Hints from the addresses of both ends.
  void Addresses(const Fields& fields, const Origin& origin, const v1::LogEvidence& where,
                 Problem& problem) {
    using enum Hint::Weight;
    if (!fields.local_gid.empty() || !fields.remote_gid.empty()) problem.roce = true;
    // A flushed request is the consequence of an earlier error. Its addresses show no cause.
    constexpr std::uint32_t kFlushed = 5;
    if (problem.status != nullptr && problem.status->number == kFlushed) return;
    // One line with a link-local GID outweighs others without.
    const auto is_about_gids = [](const Hint& hint) { return hint.cause == kGidNotRoutable; };
    for (const auto& [side, gid] :
         {std::pair("local", fields.local_gid), std::pair("remote", fields.remote_gid)}) {
      if (!IsLinkLocal(gid)) continue;
      std::erase_if(problem.hints, [&](const Hint& hint) {
        return is_about_gids(hint) && hint.weight == kAgainst;
      });
      problem.Add({.cause = kGidNotRoutable,
                   .weight = kStrong,
                   .evidence = EvidenceAt(where, Format("{} GID {} is link-local", side, gid))});
    }
    const bool any = !fields.local_gid.empty() || !fields.remote_gid.empty();
    if (any && std::ranges::none_of(problem.hints, is_about_gids))
      problem.Add({.cause = kGidNotRoutable, .weight = kAgainst, .evidence = {}});
    const std::string_view local = Subnet24(fields.local_gid);
    const std::string_view remote = Subnet24(fields.remote_gid);
    if (!local.empty() && !remote.empty() && local != remote && !problem.subnets_differ)
      problem.subnets_differ = EvidenceAt(
          where, Format("{} and {} are in different subnets", PlainAddress(fields.local_gid),
                        PlainAddress(fields.remote_gid)));
    if (!origin.host.empty() && context_.HostOf(fields.peer) == origin.host)
      problem.Add({.cause = kLocalVfLoop,
                   .weight = kStrong,
                   .evidence = EvidenceAt(
                       where, Format("the peer {} is {} itself", fields.peer, origin.host))});
    SameSubnet(fields, origin, where, problem);
  }

  // Hint for two HCAs of a host in one subnet.
  void SameSubnet(const Fields& fields, const Origin& origin, const v1::LogEvidence& where,
                  Problem& problem) {
    const std::string_view subnet = Subnet24(fields.local_gid);
    if (subnet.empty() || fields.hca.empty() || hca_of_subnet_.size() == kSubnetsMax) return;
    const auto [known, added] =
        hca_of_subnet_.try_emplace(Format("{} {}", origin.host, subnet), fields.hca);
    if (added || known->second == fields.hca) return;
    problem.Add({.cause = kArpFlux,
                 .weight = Hint::Weight::kWeak,
                 .evidence = EvidenceAt(where, Format("{} and {} of a host are both in {}0/24",
                                                      known->second, fields.hca, subnet))});
  }

  Patterns& patterns_;
  LineSplitter lines_;
  Context context_;
  std::vector<Problem> problems_;
  std::map<std::string, std::size_t> index_;          // Index of problems, by id
  std::map<std::string, std::size_t> index_of_line_;  // The same, by row and numbers: faster
  std::map<std::string, std::string> hca_of_subnet_;
  NamedBy named_by_;
  std::uint64_t sequence_ = 0;
  std::uint64_t last_line_ = 0;
  std::size_t last_completion_ = kProblemsMax;
  bool dropped_ = false;
  std::uint64_t unknown_errors_ = 0;
  std::string first_unknown_;
  v1::LogExplanation explanation_;
};

Explainer::Explainer(Patterns& patterns) : log_(std::make_unique<Log>(patterns)) {}
Explainer::~Explainer() = default;

void Explainer::BeginFile(std::string_view name) {
  log_->BeginFile(name);
}

void Explainer::Add(std::string_view bytes) {
  log_->Add(bytes);
}

v1::LogExplanation Explainer::Finish() {
  return log_->Finish();
}

}  // namespace fabric::explain
