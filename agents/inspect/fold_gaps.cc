#include "agents/inspect/fold_gaps.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "base/lists.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::size_t kFoldMin = 3;
constexpr std::size_t kNamesMax = 16;    // Of files that a captured tree lacks
constexpr std::size_t kSubjectsMax = 4;  // Of names that have one reason

// The first missing folder on the way to `path`; empty when all exist.
class MissingFolders {
 public:
  explicit MissingFolders(const Host& host) : host_(host) {}

  std::string Of(const std::string& path) {
    for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1))
      if (const std::string folder = path.substr(0, end); !IsThere(folder)) return folder;
    return {};
  }

 private:
  bool IsThere(const std::string& folder) {
    const auto [known, first] = there_.try_emplace(folder, false);
    if (first) known->second = host_.root.Has(folder) || host_.root.Sub(folder).ok();
    return known->second;
  }

  const Host& host_;
  std::map<std::string, bool> there_;
};

// `path` with "*" for the names in `subject`, "mlx5_0/1", each once.
std::string Pattern(std::string path, std::string_view subject) {
  std::size_t from = 0;
  for (const std::string_view name : Split(subject, '/')) {
    for (std::size_t at = path.find(name, from); at != std::string::npos;
         at = path.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      const bool whole = (at == 0 || path[at - 1] == '/' || path[at - 1] == ' ') &&
                         (end == path.size() || path[end] == '/' || path[end] == ' ');
      if (!whole || name.empty()) continue;
      path.replace(at, name.size(), "*");
      from = at + 1;
      break;
    }
  }
  return path;
}

using Key = std::tuple<std::string, int, std::string, std::string>;

// Groups the gaps by `key_of`, ignoring those whose third key field is empty. `fold` merges each
// group that is large enough into its first gap.
template <class KeyOf, class Fold>
void FoldBy(v1::NodeSnapshot& snapshot, KeyOf key_of, Fold fold) {
  std::map<Key, std::vector<v1::Gap*>> groups;
  for (v1::Gap& gap : *snapshot.mutable_gaps())
    if (gap.code() != v1::GAP_CODE_DEADLINE_EXCEEDED)
      if (const Key key = key_of(gap); !std::get<2>(key).empty()) groups[key].push_back(&gap);
  for (auto& [key, gaps] : groups) {
    if (gaps.size() < kFoldMin) continue;
    fold(std::get<2>(key), gaps);
    for (std::size_t i = 1; i < gaps.size(); ++i) gaps[i]->set_code(v1::GAP_CODE_UNSPECIFIED);
  }
  const auto gone = [](const v1::Gap& gap) { return gap.code() == v1::GAP_CODE_UNSPECIFIED; };
  auto& all = *snapshot.mutable_gaps();
  all.erase(std::remove_if(all.begin(), all.end(), gone), all.end());
}

void FoldFolder(const std::string& folder, const std::vector<v1::Gap*>& gaps) {
  std::vector<std::string> names;
  for (const v1::Gap* gap : gaps) names.push_back(gap->path().substr(folder.size() + 1));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  v1::Gap& first = *gaps.front();
  first.clear_subject();
  first.set_path(folder);
  first.set_reason("not in the captured tree; missing: " + ListSome(names, kNamesMax, " "));
}

bool HoldsCounters(std::string_view folder) {
  for (const std::string_view name : {"/counters", "/counters_ext", "/hw_counters"})
    if (folder.ends_with(name)) return true;
  return false;
}

// "gids/*" for the slot "gids/3"; the folder of a counter, and of a file without read permission,
// because permissions usually apply to the folder; empty for other files.
std::string WholeFolder(const v1::Gap& gap) {
  const std::size_t slash = gap.path().find_last_of('/');
  if (slash == std::string::npos) return {};
  const std::string folder = gap.path().substr(0, slash);
  if (gap.code() == v1::GAP_CODE_PERMISSION_DENIED || HoldsCounters(folder)) return folder;
  const std::string_view name = std::string_view(gap.path()).substr(slash + 1);
  return ParseNumber<std::uint32_t>(name).ok() ? folder + "/*" : std::string();
}

void FoldFiles(const std::string& folder, const std::vector<v1::Gap*>& gaps) {
  std::vector<std::string> names;
  for (const v1::Gap* gap : gaps)
    names.push_back(gap->path().substr(gap->path().find_last_of('/') + 1));
  v1::Gap& first = *gaps.front();
  first.set_path(folder);
  first.set_reason(Format("{} ({})", first.reason(), ListSome(names, kSubjectsMax, " ")));
}

void FoldSubjects(const std::string& pattern, const std::vector<v1::Gap*>& gaps) {
  std::vector<std::string> names;
  for (const v1::Gap* gap : gaps) names.push_back(gap->subject());
  std::sort(names.begin(), names.end());
  v1::Gap& first = *gaps.front();
  first.clear_subject();
  first.set_path(pattern);
  first.set_reason(Format("{} ({})", first.reason(), ListSome(names, kSubjectsMax, " ")));
}

}  // namespace

void FoldGaps(const Host& host, v1::NodeSnapshot& snapshot) {
  if (host.captured) {
    MissingFolders missing(host);
    FoldBy(
        snapshot,
        [&](const v1::Gap& gap) {
          const bool file = gap.code() == v1::GAP_CODE_NOT_FOUND && gap.subject().empty();
          return Key{gap.inspector(), gap.code(), file ? missing.Of(gap.path()) : "", ""};
        },
        FoldFolder);
  }
  FoldBy(
      snapshot,
      [](const v1::Gap& gap) {
        return Key{gap.inspector(), gap.code(), WholeFolder(gap), gap.subject() + gap.reason()};
      },
      FoldFiles);
  FoldBy(
      snapshot,
      [](const v1::Gap& gap) {
        const bool folds = !gap.subject().empty() && !gap.path().empty();
        return Key{gap.inspector(), gap.code(), folds ? Pattern(gap.path(), gap.subject()) : "",
                   gap.reason()};
      },
      FoldSubjects);
}

}  // namespace fabric::inspect
