// SPDX-License-Identifier: Apache-2.0
#include "control/store/store_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace bfly::control {

FileId FileIdAt(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return {};
  return {.device = file.st_dev, .inode = file.st_ino};
}

std::string LogPath(const std::string& path) { return path + "-wal"; }

void RemoveLog(const std::string& path) {
  for (const std::string& name : {LogPath(path), path + "-shm"}) unlink(name.c_str());
}

void RemoveDatabase(const std::string& path) {
  unlink(path.c_str());
  RemoveLog(path);
}

void SyncNames(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  const int file = open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  fsync(file);
  close(file);
}

}  // namespace bfly::control
