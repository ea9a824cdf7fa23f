// SPDX-License-Identifier: Apache-2.0
// What `bfly doctor` reads of the machine it runs on, relative to where it was called.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "control/doctor/machine.h"
#include "tests/temporary_folder.h"

namespace bfly::control {
namespace {

// Calls in another working directory, until the object ends.
class WorkingDirectory {
 public:
  explicit WorkingDirectory(const std::filesystem::path& path) {
    std::filesystem::current_path(path);
  }
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;
  ~WorkingDirectory() { std::filesystem::current_path(before_); }

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
};

TEST(DoctorMachine, ARelativeDirectoryThatIsNotThereYetIsMadeInTheWorkingDirectory) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "not a directory";
  const WorkingDirectory here(folder.path());
  const Machine machine("", "mylab");
  EXPECT_TRUE(machine.IsWritable("mylab"));
  EXPECT_TRUE(machine.IsWritable("./mylab/run"));
  EXPECT_TRUE(machine.IsWritable("."));
  EXPECT_FALSE(machine.IsWritable("file"));
  EXPECT_FALSE(machine.IsWritable("file/mylab"));
}

}  // namespace
}  // namespace bfly::control
