// A disk under SQLite that fails on demand: full, with I/O errors, and with power failures that
// lose or tear what was not synchronized. Files must use locking_mode EXCLUSIVE. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

struct sqlite3_file;
struct sqlite3_vfs;

namespace fabric::testing {

// While it lives, all databases that are opened are on this disk; at most one at a time.
class FaultyDisk {
 public:
  FaultyDisk();
  ~FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  bool full = false;         // Writes fail with SQLITE_FULL.
  bool write_fails = false;  // Writes fail with an I/O error.
  bool sync_fails = false;
  bool read_fails = false;
  std::uint64_t writes = 0;
  std::uint64_t syncs = 0;

  // The power fails at the write after `writes_left` others: every access fails from then on.
  void CutPowerAfter(std::uint64_t writes_left) { cut_at_ = writes + writes_left; }
  void CutPower() { off_ = true; }
  bool off() const { return off_; }
  // Call after all databases are closed. Of the writes since the last sync of a file, a random part
  // is on the disk; one of them can be torn.
  void PowerOn(std::mt19937& random);

  // For the implementation in C.
  struct Unsynced {
    std::int64_t offset;
    std::string after;  // Bytes written; empty with `truncated`
    bool truncated = false;
  };
  struct Contents {
    std::string synced;  // As of the last sync
    std::vector<Unsynced> unsynced;
  };
  bool BeforeWrite();
  Contents& ContentsOf(const std::string& path, sqlite3_file* file);
  std::map<std::string, Contents>& files() { return files_; }
  sqlite3_vfs& real() { return real_; }

 private:
  sqlite3_vfs& real_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  std::map<std::string, Contents> files_;
  std::uint64_t cut_at_ = UINT64_MAX;
  bool off_ = false;
};

}  // namespace fabric::testing
