// SPDX-License-Identifier: Apache-2.0
#include "topologies/permutation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace bfly {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Permutation, ByNameIsWhatTheNameSays) {
  const auto of = [](const char* name, uint32_t rows) {
    return PermutationByName(name, rows, 0).value();
  };
  EXPECT_EQ(of("identity", 4), (Permutation{0, 1, 2, 3}));
  EXPECT_EQ(of("bitrev", 8), (Permutation{0, 4, 2, 6, 1, 5, 3, 7}));
  EXPECT_EQ(of("bitcomp", 8), (Permutation{7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(of("shuffle", 8), (Permutation{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(of("tornado", 8), (Permutation{3, 4, 5, 6, 7, 0, 1, 2}));
  EXPECT_EQ(of("neighbor", 8), (Permutation{1, 2, 3, 4, 5, 6, 7, 0}));
  // 16 rows as a 4 x 4 matrix: row r, column c goes to row c, column r.
  const Permutation transpose = of("transpose", 16);
  for (Row r = 0; r < 4; ++r) {
    for (Row c = 0; c < 4; ++c) EXPECT_EQ(transpose[4 * r + c], 4 * c + r);
  }
  // Three bits rotated right by floor(3 / 2) = 1.
  EXPECT_EQ(of("transpose", 8), (Permutation{0, 4, 1, 5, 2, 6, 3, 7}));
}

TEST(Permutation, EveryNameGivesAPermutationOfEverySize) {
  for (const std::string& name : PermutationNames()) {
    for (uint32_t rows = 2; rows <= 1024; rows *= 2) {
      const auto permutation = PermutationByName(name, rows, 7);
      ASSERT_TRUE(permutation.ok()) << name;
      EXPECT_TRUE(CheckPermutation(*permutation, rows).ok()) << name << " " << rows;
    }
  }
}

TEST(Permutation, RandomDependsOnTheSeedAlone) {
  EXPECT_EQ(PermutationByName("random", 64, 1).value(), PermutationByName("random", 64, 1).value());
  EXPECT_NE(PermutationByName("random", 64, 1).value(), PermutationByName("random", 64, 2).value());
}

TEST(Permutation, UnknownNamesAreRefusedWithTheKnownOnes) {
  EXPECT_THAT(std::string(PermutationByName("reverse", 8, 0).status().message()),
              HasSubstr("permutation: \"reverse\" is not known; use random, identity, bitrev,"));
  // Services have no files of their callers.
  EXPECT_THAT(std::string(PermutationByName("reverse", 8, 0).status().message()),
              Not(HasSubstr("file")));
  EXPECT_THAT(std::string(PermutationByName("identity", 6, 0).status().message()),
              HasSubstr("rows: 6 is not a power of two"));
}

TEST(Permutation, FileHasOneOutputALineWithCommentsAndEmptyLines) {
  EXPECT_EQ(PermutationFromText("# four rows\n3\n\n 1 \n0 # input 2\r\n2\n", 4, "p").value(),
            (Permutation{3, 1, 0, 2}));
}

TEST(Permutation, FileErrorsAreReportedTogetherWithTheirLines) {
  const auto wrong = PermutationFromText("0\nx\n4\n0\n-1\n", 4, "p.txt");
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(wrong.status().message()),
            "p.txt:2: \"x\" is not an output row, 0..3\n"
            "p.txt:3: \"4\" is not an output row, 0..3\n"
            "p.txt:4: output 0 is already on line 1\n"
            "p.txt:5: \"-1\" is not an output row, 0..3\n"
            "p.txt: 5 outputs given, the network has 4 rows");
  EXPECT_EQ(std::string(PermutationFromText("0\n1", 4, "p").status().message()),
            "p: 2 outputs given, the network has 4 rows");
  EXPECT_EQ(std::string(PermutationFromText("", 2, "p").status().message()),
            "p: 0 outputs given, the network has 2 rows");
}

TEST(Permutation, FileWithThousandsOfErrorsListsTheFirstTwenty) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "x\n";
  const std::string message(PermutationFromText(text, 8192, "p").status().message());
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), kMaxFileErrors);
  EXPECT_THAT(message, HasSubstr("p: and 4981 more errors"));  // 5000 lines and the count, less 20
}

TEST(Permutation, IsReadFromAFileOrTheFileIsNamed) {
  const std::string path = testing::TempDir() + "/permutation_test." + std::to_string(getpid());
  std::ofstream(path) << "1\n0\n";
  EXPECT_EQ(ReadPermutationFile(path, 2).value(), (Permutation{1, 0}));
  std::remove(path.c_str());
  const auto missing = ReadPermutationFile(path, 2);
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr(path));
  EXPECT_THAT(std::string(ReadPermutationFile(testing::TempDir(), 2).status().message()),
              HasSubstr("Is a directory"));
  EXPECT_THAT(std::string(ReadPermutationFile("/dev/zero", 2).status().message()),
              HasSubstr("/dev/zero is longer than the 1048704 bytes that 2 rows may take"));
}

TEST(Permutation, CheckNamesTheFirstWrongInput) {
  EXPECT_EQ(CheckPermutation({0, 1}, 4).message(),
            "permutation: 2 outputs given, the network has 4 rows");
  EXPECT_EQ(CheckPermutation({0, 4, 1, 2}, 4).message(), "permutation[1]: 4 is outside 0..3");
  EXPECT_EQ(CheckPermutation({0, 1, 0, 2}, 4).message(), "permutation[2]: output 0 is given twice");
}

}  // namespace
}  // namespace bfly
