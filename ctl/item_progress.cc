#include "ctl/item_progress.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "base/text.h"

namespace fabric::ctl {
namespace {

constexpr Duration kQuiet = std::chrono::seconds(1);
constexpr Duration kBetween = std::chrono::milliseconds(100);

// 0: not known.
std::uint64_t SizeOf(const std::string& file) {
  std::error_code error;
  const std::filesystem::path path(file);
  if (!std::filesystem::is_regular_file(path, error)) return 0;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : std::uint64_t{size};
}

}  // namespace

void Remaining::Show(std::string_view text, double share) {
  const WallTime now = stream_.Now();
  const Duration elapsed = now - start_;
  if (elapsed < kQuiet || now - shown_ < kBetween) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(elapsed).count();
  stream_.Progress(
      share > 0 ? Format("{}: {}, about {:.0f}s left", what_, text, seconds * (1 - share) / share)
                : Format("{}: {}", what_, text));
}

void NodeProgress::Next() {
  const std::size_t done = done_++;
  if (done == 0) return;
  line_.Show(Format("{} of {} nodes", done, nodes_),
             static_cast<double>(done) / static_cast<double>(nodes_));
}

FileProgress::FileProgress(Stream& stream, std::string_view what,
                           const std::vector<std::string>& files)
    : line_(stream, what) {
  for (const std::string& file : files) total_ += sizes_.emplace_back(SizeOf(file));
  if (std::ranges::find(sizes_, std::uint64_t{0}) != sizes_.end()) total_ = 0;
}

void FileProgress::Next() {
  if (next_ > 0) before_ += sizes_[next_ - 1];
  of_file_ = 0;
  if (next_++ > 0) Show();
}

void FileProgress::Read(std::size_t bytes) {
  of_file_ += bytes;
  Show();
}

void FileProgress::Show() {
  const double share =
      total_ == 0
          ? 0
          : std::min(1.0, static_cast<double>(before_ + of_file_) / static_cast<double>(total_));
  if (sizes_.size() > 1)
    line_.Show(Format("{} of {} files", next_ - 1, sizes_.size()), share);
  else
    line_.Show(total_ > 0 ? Format("{:.0f} %", 100 * share) : Format("{} MB", of_file_ / 1'000'000),
               share);
}

}  // namespace fabric::ctl
