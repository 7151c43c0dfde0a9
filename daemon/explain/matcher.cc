#include "daemon/explain/matcher.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace fabric::explain {
namespace {

constexpr std::pair<std::string_view, std::string_view Fields::*> kGroups[] = {
    {"hca", &Fields::hca},
    {"peer", &Fields::peer},
    {"status", &Fields::status},
    {"synd", &Fields::synd},
    {"vendor", &Fields::vendor},
    {"wc_text", &Fields::wc_text},
    {"local_gid", &Fields::local_gid},
    {"remote_gid", &Fields::remote_gid},
    {"gid_index", &Fields::gid_index},
    {"rank", &Fields::rank},
    {"detail", &Fields::detail},
};
constexpr int kGroupsMax = 12;

// Latin-1, because logs can contain any bytes.
RE2::Options Bytes() {
  RE2::Options options(RE2::Latin1);
  options.set_log_errors(false);
  return options;
}

re2::StringPiece Piece(std::string_view text) {
  return {text.data(), text.size()};
}

struct Row {
  const Message* message;
  std::string_view library;
  std::unique_ptr<const RE2> pattern;  // Compiled on first use
};

std::string AnyNeedle() {
  std::string any;
  for (const MessageTable* table : AllMessageTables())
    for (const Message& message : table->messages) {
      if (!any.empty()) any += '|';
      any += RE2::QuoteMeta(Piece(message.needle));
    }
  return any;
}

Fields FieldsOf(const RE2& pattern, const std::array<re2::StringPiece, kGroupsMax>& groups) {
  Fields fields;
  for (const auto& [name, index] : pattern.NamedCapturingGroups())
    for (const auto& [known, member] : kGroups) {
      const re2::StringPiece& group = groups[static_cast<std::size_t>(index)];
      if (name == known && !group.empty()) fields.*member = {group.data(), group.size()};
    }
  return fields;
}

}  // namespace

// Who writes the line, then a word of failure.
constexpr char kErrorPattern[] =
    R"(NCCL WARN|UCX +(?:ERROR|FATAL)|\bERR [0-9A-F]{4}: |)"
    R"((?:\b(?:mlx[45]_(?:core|ib|\d+)|bnxt_(?:en|re)|ice|irdma|ionic|efa|ena|erdma|hns\w*|)"
    R"(infiniband|mana|nvmet_rdma|rpcrdma|)"
    R"(qed\w*|cxgb4|iw_\w+|hfi1|siw|rdma_rxe|iser|isert|ib_srpt?|)"
    R"(amdgpu|amdkfd|pcieport|libibverbs|libfabric|ibwarn|nvidia\S*|)"
    R"((?:ibv|rdma|mlx5dv|efadv)_\w+)\b|)"
    R"(NVRM|AER|DMAR|AMD-Vi|OpenFabrics).*)"
    R"((?i:error|fail|fatal|timeout|timed out|cannot|unable|invalid|stuck|refused|unreachable|)"
    R"(could(?: not|n't)|can't|no such))";

struct Matcher::State {
  State()
      : any(AnyNeedle(), Bytes()),
        any_error(kErrorPattern, Bytes()),
        needles(Bytes(), RE2::UNANCHORED) {
    for (const MessageTable* table : AllMessageTables())
      for (const Message& message : table->messages) {
        rows.push_back({.message = &message, .library = table->library, .pattern = nullptr});
        needles.Add(RE2::QuoteMeta(Piece(message.needle)), nullptr);
      }
    needles.Compile();
  }

  // Fills `found` with the indexes of the rows whose needle occurs in the line, ascending. One pass
  // over the line.
  void FindNeedles(std::string_view line) {
    RE2::Set::ErrorInfo error = {RE2::Set::kNoError};
    if (!needles.Match(Piece(line), &found, &error) && error.kind != RE2::Set::kNoError) {
      found.resize(rows.size());  // Out of memory: try all rows
      std::iota(found.begin(), found.end(), 0);
    }
    std::sort(found.begin(), found.end());
  }

  RE2 any;
  RE2 any_error;
  RE2::Set needles;
  std::vector<Row> rows;
  std::vector<int> found;
};

Matcher::Matcher() : state_(std::make_unique<State>()) {}
Matcher::~Matcher() = default;

bool Matcher::MayMatch(std::string_view line) const {
  return RE2::PartialMatch(Piece(line), state_->any);
}

bool Matcher::LooksLikeError(std::string_view line) const {
  return RE2::PartialMatch(Piece(line), state_->any_error);
}

std::optional<Match> Matcher::Find(std::string_view line) {
  state_->FindNeedles(line);
  for (const int place : state_->found) {
    Row& row = state_->rows[static_cast<std::size_t>(place)];
    if (row.pattern == nullptr)
      row.pattern = std::make_unique<const RE2>(Piece(row.message->pattern), Bytes());
    std::array<re2::StringPiece, kGroupsMax> groups;
    const int wanted = row.pattern->NumberOfCapturingGroups() + 1;
    if (row.pattern->Match(Piece(line), 0, line.size(), RE2::UNANCHORED, groups.data(), wanted))
      return Match{
          .message = row.message, .library = row.library, .fields = FieldsOf(*row.pattern, groups)};
  }
  return std::nullopt;
}

std::string_view BrokenRow() {
  for (const MessageTable* table : AllMessageTables())
    for (const Message& message : table->messages) {
      const RE2 pattern(Piece(message.pattern), Bytes());
      if (!pattern.ok() || pattern.NumberOfCapturingGroups() >= kGroupsMax) return message.id;
      for (const auto& [name, index] : pattern.NamedCapturingGroups()) {
        bool known = false;
        for (const auto& [group, member] : kGroups) known = known || name == group;
        if (!known) return message.id;
      }
    }
  return {};
}

}  // namespace fabric::explain
