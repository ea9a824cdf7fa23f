// SPDX-License-Identifier: Apache-2.0
// A new empty folder for one test. It is removed, with all that is in it, when the object ends.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace bfly {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(testing::TempDir() + "bfly-test-XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr) << "no folder " << path_;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace bfly
