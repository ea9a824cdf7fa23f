// SPDX-License-Identifier: Apache-2.0
#include "tests/control/power_loss_disk.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace bfly::control {
namespace {

constexpr size_t kSector = 512;

struct Write {
  sqlite3_int64 offset;
  std::string bytes;
  bool truncates = false;  // to `offset`
};

struct OnDisk {
  std::string synced;
  std::vector<Write> since;
};

struct Disk {
  sqlite3_vfs* real = nullptr;
  int64_t cut = 0;
  int64_t steps = 0;
  std::mt19937_64 random;
  std::map<std::string, OnDisk> files;
};
Disk& TheDisk() {
  static Disk disk;
  return disk;
}

struct File {
  sqlite3_file base;
  sqlite3_file* real;
  OnDisk* on_disk;  // null for files without a name
};
File& Of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }

void Overwrite(std::string& image, sqlite3_int64 offset, const char* bytes, size_t size) {
  const auto end = static_cast<size_t>(offset) + size;
  if (image.size() < end) image.resize(end);
  std::memcpy(image.data() + offset, bytes, size);
}

void Apply(const Write& write, std::string& image) {
  if (write.truncates) {
    image.resize(static_cast<size_t>(write.offset));
  } else {
    Overwrite(image, write.offset, write.bytes.data(), write.bytes.size());
  }
}

void ApplySomeSectors(const Write& write, std::string& image, std::mt19937_64& random) {
  for (size_t at = 0; at < write.bytes.size(); at += kSector) {
    if (random() % 2 == 0) continue;
    Overwrite(image, write.offset + static_cast<sqlite3_int64>(at), write.bytes.data() + at,
              std::min(kSector, write.bytes.size() - at));
  }
}

[[noreturn]] void LosePower(Disk& disk) {
  for (auto& [path, file] : disk.files) {
    std::string image = file.synced;
    for (const Write& write : file.since) {
      const uint64_t fate = disk.random() % 4;
      if (fate < 2) {
        Apply(write, image);
      } else if (fate == 2 && !write.truncates) {
        ApplySomeSectors(write, image, disk.random);
      }
    }
    const int out = open(path.c_str(), O_WRONLY);  // what was renamed or removed stays so
    if (out < 0) continue;
    if (pwrite(out, image.data(), image.size(), 0) != static_cast<ssize_t>(image.size()) ||
        ftruncate(out, static_cast<off_t>(image.size())) != 0) {
      _exit(1);
    }
    close(out);
  }
  _exit(kPowerLost);
}

void Step() {
  Disk& disk = TheDisk();
  if (disk.real == nullptr) return;
  if (disk.steps == disk.cut) LosePower(disk);
  ++disk.steps;
}

int CloseFile(sqlite3_file* file) { return Of(file).real->pMethods->xClose(Of(file).real); }
int ReadFile(sqlite3_file* file, void* to, int bytes, sqlite3_int64 offset) {
  return Of(file).real->pMethods->xRead(Of(file).real, to, bytes, offset);
}
int WriteFile(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 offset) {
  Step();
  if (OnDisk* on_disk = Of(file).on_disk) {
    on_disk->since.push_back(
        {offset, std::string(static_cast<const char*>(from), static_cast<size_t>(bytes))});
  }
  return Of(file).real->pMethods->xWrite(Of(file).real, from, bytes, offset);
}
int TruncateFile(sqlite3_file* file, sqlite3_int64 size) {
  Step();
  if (OnDisk* on_disk = Of(file).on_disk) on_disk->since.push_back({size, "", true});
  return Of(file).real->pMethods->xTruncate(Of(file).real, size);
}
int SyncFile(sqlite3_file* file, int) {
  Step();
  if (OnDisk* on_disk = Of(file).on_disk) {
    for (const Write& write : on_disk->since) Apply(write, on_disk->synced);
    on_disk->since.clear();
  }
  return SQLITE_OK;  // the machine's own disk keeps its power
}
int SizeOfFile(sqlite3_file* file, sqlite3_int64* size) {
  return Of(file).real->pMethods->xFileSize(Of(file).real, size);
}
int LockFile(sqlite3_file* file, int lock) {
  return Of(file).real->pMethods->xLock(Of(file).real, lock);
}
int UnlockFile(sqlite3_file* file, int lock) {
  return Of(file).real->pMethods->xUnlock(Of(file).real, lock);
}
int CheckLock(sqlite3_file* file, int* locked) {
  return Of(file).real->pMethods->xCheckReservedLock(Of(file).real, locked);
}
int ControlFile(sqlite3_file* file, int what, void* argument) {
  return Of(file).real->pMethods->xFileControl(Of(file).real, what, argument);
}
int SectorSize(sqlite3_file* file) { return Of(file).real->pMethods->xSectorSize(Of(file).real); }
int Characteristics(sqlite3_file* file) {
  return Of(file).real->pMethods->xDeviceCharacteristics(Of(file).real);
}
int MapShared(sqlite3_file* file, int page, int bytes, int extend, void volatile** to) {
  return Of(file).real->pMethods->xShmMap(Of(file).real, page, bytes, extend, to);
}
int LockShared(sqlite3_file* file, int offset, int count, int flags) {
  return Of(file).real->pMethods->xShmLock(Of(file).real, offset, count, flags);
}
void BarShared(sqlite3_file* file) { Of(file).real->pMethods->xShmBarrier(Of(file).real); }
int UnmapShared(sqlite3_file* file, int remove) {
  return Of(file).real->pMethods->xShmUnmap(Of(file).real, remove);
}

// Version 2 has no mapped reads: every byte goes through the calls above.
constexpr sqlite3_io_methods kMethods = {
    2,          CloseFile,  ReadFile,    WriteFile,   TruncateFile, SyncFile,        SizeOfFile,
    LockFile,   UnlockFile, CheckLock,   ControlFile, SectorSize,   Characteristics, MapShared,
    LockShared, BarShared,  UnmapShared, nullptr,     nullptr};

int OpenFile(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  Disk& disk = TheDisk();
  File& mine = *new (file) File{};
  mine.real = reinterpret_cast<sqlite3_file*>(&mine + 1);
  const int result = disk.real->xOpen(disk.real, name, mine.real, flags, out_flags);
  if (result != SQLITE_OK) return result;
  mine.base.pMethods = &kMethods;
  // A file of the first steps is empty, and others were seen when they were made.
  if (name != nullptr) mine.on_disk = &disk.files[name];
  return SQLITE_OK;
}
int RemoveFile(sqlite3_vfs*, const char* name, int sync) {
  Step();
  TheDisk().files.erase(name);
  return TheDisk().real->xDelete(TheDisk().real, name, sync);
}

}  // namespace

extern "C" {
int __real_link(const char* from, const char* to);
int __real_rename(const char* from, const char* to);
int __real_unlink(const char* name);

int __wrap_rename(const char* from, const char* to) {
  Step();
  Disk& disk = TheDisk();
  if (auto file = disk.files.extract(from)) {
    file.key() = to;
    disk.files.erase(to);
    disk.files.insert(std::move(file));
  }
  return __real_rename(from, to);
}

int __wrap_link(const char* from, const char* to) {
  Step();
  Disk& disk = TheDisk();
  // Nothing is written to a file while it has two names.
  if (const auto file = disk.files.find(from); file != disk.files.end()) {
    disk.files[to] = file->second;
  }
  return __real_link(from, to);
}

int __wrap_unlink(const char* name) {
  Step();
  TheDisk().files.erase(name);
  return __real_unlink(name);
}
}

void UseDiskThatLosesPower(int64_t cut, uint64_t seed) {
  Disk& disk = TheDisk();
  disk.cut = cut;
  disk.random.seed(seed);
  disk.real = sqlite3_vfs_find(nullptr);
  static sqlite3_vfs mine = *disk.real;
  mine.zName = "disk-that-loses-power";
  mine.szOsFile = static_cast<int>(sizeof(File)) + disk.real->szOsFile;
  mine.xOpen = OpenFile;
  mine.xDelete = RemoveFile;
  sqlite3_vfs_register(&mine, /*makeDflt=*/1);
}

int64_t StepsOfDisk() { return TheDisk().steps; }

}  // namespace bfly::control
