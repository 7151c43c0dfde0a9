#include "agents/counters/file_readers.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace fabric::counters {
namespace {

using Files = std::vector<std::optional<host::NumberFile>>;

Files OpenAll(const host::Dir& root, const FilePlaces& places) {
  Files files(places.names.size());
  const auto dir = root.Sub(places.of);
  if (!dir.ok()) return files;
  for (std::size_t i = 0; i < files.size(); ++i)
    for (const std::string& folder : places.folders) {
      auto file = dir->OpenNumber(folder + "/" + places.names[i]);
      if (!file.ok()) continue;
      files[i] = *std::move(file);
      break;
    }
  return files;
}

bool NoneOf(const Files& files) {
  return std::none_of(files.begin(), files.end(),
                      [](const auto& file) { return file.has_value(); });
}

class SysfsFiles final : public Reader {
 public:
  explicit SysfsFiles(Files files) : files_(std::move(files)) {}

  bool Reads(std::size_t index) const override { return files_[index].has_value(); }

  Status Read(std::span<Reading> readings) override {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (!files_[i]) continue;
      readings[i].there = files_[i]->Read(readings[i].raw) == Code::kOk;
      if (!readings[i].there) files_[i].reset();
    }
    return {};
  }

 private:
  Files files_;
};

class CapturedFiles final : public Reader {
 public:
  CapturedFiles(const host::Dir& root, FilePlaces places, Files files)
      : root_(root), places_(std::move(places)), files_(std::move(files)) {
    for (const auto& file : files_) reads_.push_back(file.has_value());
    failed_.resize(files_.size(), false);
    std::erase_if(places_.folders,
                  [&](const std::string& folder) { return !root_.Sub(PathOf(folder)).ok(); });
    stamps_ = Stamps();
  }

  bool Reads(std::size_t index) const override { return reads_[index]; }

  Status Read(std::span<Reading> readings) override {
    if (std::exchange(look_, !look_)) Look();
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (!reads_[i]) continue;
      const bool read = files_[i] && files_[i]->Read(readings[i].raw) == Code::kOk;
      // The reading of before stands for that of a file that is being written.
      if (read || !files_[i] || failed_[i]) readings[i].there = read;
      failed_[i] = !read;
    }
    return {};
  }

 private:
  void Look() {
    auto stamps = Stamps();
    if (stamps == stamps_) return;
    stamps_ = std::move(stamps);
    files_.clear();  // Closes them before others are opened.
    files_ = OpenAll(root_, places_);
  }

  std::string PathOf(const std::string& folder) const { return places_.of + "/" + folder; }

  std::vector<std::optional<host::DirStamp>> Stamps() const {
    std::vector<std::optional<host::DirStamp>> stamps;
    for (const std::string& folder : places_.folders)
      stamps.push_back(root_.StampOf(PathOf(folder)));
    return stamps;
  }

  const host::Dir& root_;
  FilePlaces places_;
  Files files_;
  bool look_ = false;         // The next time: every second one, as that costs half a reading
  std::vector<bool> reads_;   // Which there were at first
  std::vector<bool> failed_;  // The last time
  std::vector<std::optional<host::DirStamp>> stamps_;
};

}  // namespace

std::unique_ptr<Reader> OpenSysfsFiles(const host::Dir& root, const FilePlaces& places) {
  Files files = OpenAll(root, places);
  if (NoneOf(files)) return nullptr;
  return std::make_unique<SysfsFiles>(std::move(files));
}

std::unique_ptr<Reader> OpenCapturedFiles(const host::Dir& root, FilePlaces places) {
  Files files = OpenAll(root, places);
  if (NoneOf(files)) return nullptr;
  return std::make_unique<CapturedFiles>(root, std::move(places), std::move(files));
}

}  // namespace fabric::counters
