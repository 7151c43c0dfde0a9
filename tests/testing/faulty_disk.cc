#include "tests/testing/faulty_disk.h"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <new>

namespace fabric::testing {
namespace {

constexpr std::size_t kSectorBytes = 512;

// What SQLite sees as an open file. The real one follows it in memory.
struct DiskFile {
  sqlite3_file base;
  FaultyDisk* disk;
  std::string* path;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

DiskFile& Of(sqlite3_file* file) {
  return *reinterpret_cast<DiskFile*>(file);
}

int Close(sqlite3_file* file) {
  DiskFile& open = Of(file);
  delete open.path;
  return open.real()->pMethods->xClose(open.real());
}

int Read(sqlite3_file* file, void* to, int bytes, sqlite3_int64 offset) {
  DiskFile& open = Of(file);
  if (open.disk->off() || open.disk->read_fails) return SQLITE_IOERR_READ;
  return open.real()->pMethods->xRead(open.real(), to, bytes, offset);
}

int Write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 offset) {
  DiskFile& open = Of(file);
  FaultyDisk& disk = *open.disk;
  FaultyDisk::Contents& contents = disk.ContentsOf(*open.path, open.real());
  const bool fine = disk.BeforeWrite();
  // The write at which the power fails may have reached the disk.
  if (fine || disk.off())
    contents.unsynced.push_back(
        {.offset = offset,
         .after = std::string(static_cast<const char*>(from), static_cast<std::size_t>(bytes))});
  if (disk.full) return SQLITE_FULL;
  if (!fine) return SQLITE_IOERR_WRITE;
  return open.real()->pMethods->xWrite(open.real(), from, bytes, offset);
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  DiskFile& open = Of(file);
  if (open.disk->off()) return SQLITE_IOERR_TRUNCATE;
  open.disk->ContentsOf(*open.path, open.real())
      .unsynced.push_back({.offset = size, .after = {}, .truncated = true});
  return open.real()->pMethods->xTruncate(open.real(), size);
}

std::string Whole(sqlite3_file* real) {
  sqlite3_int64 size = 0;
  if (real->pMethods->xFileSize(real, &size) != SQLITE_OK) return {};
  std::string bytes(static_cast<std::size_t>(size), '\0');
  if (size > 0) real->pMethods->xRead(real, bytes.data(), static_cast<int>(size), 0);
  return bytes;
}

int Sync(sqlite3_file* file, int) {
  DiskFile& open = Of(file);
  FaultyDisk& disk = *open.disk;
  if (disk.off() || disk.sync_fails) return SQLITE_IOERR_FSYNC;
  ++disk.syncs;
  FaultyDisk::Contents& contents = disk.ContentsOf(*open.path, open.real());
  contents.synced = Whole(open.real());
  contents.unsynced.clear();
  return SQLITE_OK;  // The test survives: no need to wait for the real disk.
}

int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  return Of(file).real()->pMethods->xFileSize(Of(file).real(), size);
}
int Lock(sqlite3_file* file, int level) {
  return Of(file).real()->pMethods->xLock(Of(file).real(), level);
}
int Unlock(sqlite3_file* file, int level) {
  return Of(file).real()->pMethods->xUnlock(Of(file).real(), level);
}
int CheckReserved(sqlite3_file* file, int* result) {
  return Of(file).real()->pMethods->xCheckReservedLock(Of(file).real(), result);
}
int Control(sqlite3_file* file, int operation, void* argument) {
  return Of(file).real()->pMethods->xFileControl(Of(file).real(), operation, argument);
}
int SectorSize(sqlite3_file*) {
  return kSectorBytes;
}
int Characteristics(sqlite3_file*) {
  return 0;  // No atomic writes, no order of writes
}

// Version 1: no shared memory, which exclusive locking does not need.
constexpr sqlite3_io_methods kMethods = {
    1,       Close,         Read,    Write,      Truncate,        Sync,    FileSize, Lock,
    Unlock,  CheckReserved, Control, SectorSize, Characteristics, nullptr, nullptr,  nullptr,
    nullptr, nullptr,       nullptr};

int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
  auto& disk = *static_cast<FaultyDisk*>(vfs->pAppData);
  DiskFile& open = Of(file);
  open.base.pMethods = nullptr;
  if (disk.off()) return SQLITE_CANTOPEN;
  open.disk = &disk;
  const int result = disk.real().xOpen(&disk.real(), name, open.real(), flags, out);
  if (result != SQLITE_OK) return result;
  open.path = new std::string(name == nullptr ? "" : name);
  open.base.pMethods = &kMethods;
  return SQLITE_OK;
}

int Delete(sqlite3_vfs* vfs, const char* name, int sync) {
  auto& disk = *static_cast<FaultyDisk*>(vfs->pAppData);
  if (disk.off()) return SQLITE_IOERR_DELETE;
  disk.files().erase(name);
  return disk.real().xDelete(&disk.real(), name, sync);
}

// After a power failure: from the synced contents, writes that may have reached the disk.
std::string Survivors(const FaultyDisk::Contents& contents, std::mt19937& random) {
  std::string bytes = contents.synced;
  for (const FaultyDisk::Unsynced& write : contents.unsynced) {
    if (random() % 2 == 0) continue;
    const auto offset = static_cast<std::size_t>(write.offset);
    if (write.truncated) {
      bytes.resize(std::min(bytes.size(), offset));
      continue;
    }
    std::size_t length = write.after.size();
    if (random() % 4 == 0) length = random() % (length / kSectorBytes + 1) * kSectorBytes;  // Torn
    length = std::min(length, write.after.size());
    bytes.resize(std::max(bytes.size(), offset + length));
    bytes.replace(offset, length, write.after, 0, length);
  }
  return bytes;
}

}  // namespace

FaultyDisk::FaultyDisk()
    : real_(*sqlite3_vfs_find(nullptr)), vfs_(std::make_unique<sqlite3_vfs>(real_)) {
  vfs_->zName = "faulty";
  vfs_->szOsFile = static_cast<int>(sizeof(DiskFile)) + real_.szOsFile;
  vfs_->pAppData = this;
  vfs_->xOpen = Open;
  vfs_->xDelete = Delete;
  sqlite3_vfs_register(vfs_.get(), /*makeDflt=*/1);
}

FaultyDisk::~FaultyDisk() {
  sqlite3_vfs_unregister(vfs_.get());
  sqlite3_vfs_register(&real_, /*makeDflt=*/1);
}

bool FaultyDisk::BeforeWrite() {
  if (writes++ >= cut_at_) off_ = true;
  return !off_ && !full && !write_fails;
}

FaultyDisk::Contents& FaultyDisk::ContentsOf(const std::string& path, sqlite3_file* file) {
  const auto [at, first] = files_.try_emplace(path);
  if (first) at->second.synced = Whole(file);
  return at->second;
}

void FaultyDisk::PowerOn(std::mt19937& random) {
  for (const auto& [path, contents] : files_) {
    if (path.empty() || !std::filesystem::exists(path)) continue;
    std::ofstream(path, std::ios::binary | std::ios::trunc) << Survivors(contents, random);
  }
  files_.clear();
  cut_at_ = UINT64_MAX;
  off_ = false;
}

}  // namespace fabric::testing
