#include "agents/counters/file_readers.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace fabric::counters {
namespace {

// A file of a group.
struct CounterFile {
  std::optional<host::NumberFile> open;
  // True when it is open, or was removed since the inspection. False when its value is unknown: no
  // more descriptors, or a sum that inspections calculate.
  bool readable = false;
};

bool IsSum(const std::string& name) {
  return name.find('+') != std::string::npos;
}

// Not a lack of resources of this process, nor a time-out.
bool IsOfFile(const Status& failure) {
  return failure.code() != Code::kResourceExhausted && failure.code() != Code::kDeadlineExceeded;
}

CounterFile OpenOne(const host::Dir& dir, const FilePlaces& places, const std::string& name) {
  CounterFile result{.open = {}, .readable = !IsSum(name)};
  for (const std::string& folder : places.folders) {
    auto file = dir.OpenNumber(folder + "/" + name);
    if (file.ok()) return {.open = *std::move(file), .readable = true};
    result.readable = result.readable && IsOfFile(file.status());
  }
  return result;
}

using Files = std::vector<CounterFile>;

Files OpenAll(const host::Dir& root, const FilePlaces& places) {
  Files files;
  const auto dir = root.Sub(places.of);
  for (const std::string& name : places.names) {
    if (dir.ok())
      files.push_back(OpenOne(*dir, places, name));
    else
      files.push_back({.open = {}, .readable = IsOfFile(dir.status()) && !IsSum(name)});
  }
  return files;
}

class SysfsFiles final : public Reader {
 public:
  explicit SysfsFiles(Files files) : files_(std::move(files)) {}

  bool Reads(std::size_t index) const override { return files_[index].readable; }

  Status Read(std::span<Reading> readings) override {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      std::optional<host::NumberFile>& file = files_[i].open;
      if (!file) continue;
      readings[i].there = file->Read(readings[i].raw) == Code::kOk;
      if (!readings[i].there) file.reset();
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
    for (const CounterFile& file : files_) reads_.push_back(file.readable);
    failed_.resize(files_.size(), false);
    // A folder that is not needed is not searched again.
    const bool complete = std::all_of(files_.begin(), files_.end(), [](const CounterFile& file) {
      return file.open.has_value() || !file.readable;
    });
    if (complete)
      std::erase_if(places_.folders,
                    [&](const std::string& folder) { return !root_.Sub(PathOf(folder)).ok(); });
    stamps_ = Stamps();
  }

  bool Reads(std::size_t index) const override { return reads_[index]; }

  Status Read(std::span<Reading> readings) override {
    if (std::exchange(look_, !look_)) Look();
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (!reads_[i]) continue;
      const std::optional<host::NumberFile>& file = files_[i].open;
      const bool read = file && file->Read(readings[i].raw) == Code::kOk;
      // Keeps the previous reading of a file that is being written.
      if (read || !file || failed_[i]) readings[i].there = read;
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
  std::vector<bool> reads_;   // Which could be at first
  std::vector<bool> failed_;  // The last time
  std::vector<std::optional<host::DirStamp>> stamps_;
};

}  // namespace

std::unique_ptr<Reader> OpenSysfsFiles(const host::Dir& root, const FilePlaces& places) {
  return std::make_unique<SysfsFiles>(OpenAll(root, places));
}

std::unique_ptr<Reader> OpenCapturedFiles(const host::Dir& root, FilePlaces places) {
  Files files = OpenAll(root, places);
  return std::make_unique<CapturedFiles>(root, std::move(places), std::move(files));
}

}  // namespace fabric::counters
