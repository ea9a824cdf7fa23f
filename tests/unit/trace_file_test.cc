// SPDX-License-Identifier: Apache-2.0
#include "control/trace_file/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pcap/pcap.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace bfly::control {
namespace {

using ::testing::HasSubstr;

using Packets = std::vector<std::vector<uint64_t>>;

Packets Of(const dataplane::Trace& trace) {
  Packets packets;
  for (const auto& p : trace) packets.push_back({p.nanoseconds, p.row, p.destination, p.bytes});
  return packets;
}

class TraceFileTest : public testing::Test {
 protected:
  TraceFileTest() : path_(testing::TempDir() + "/trace_file_test." + std::to_string(getpid())) {}
  ~TraceFileTest() override { std::remove(path_.c_str()); }

  // Ethernet frames of `bytes` between two MAC addresses, written by libpcap.
  struct Frame {
    long seconds;
    long nanoseconds;
    std::vector<uint8_t> to, from;
    uint32_t bytes;
  };
  static std::vector<uint8_t> RowAddress(uint8_t high, uint8_t low) {
    return {0x02, 0xbf, 0, 0, high, low};
  }
  void WriteCapture(const std::vector<Frame>& frames, int link_type = DLT_EN10MB) {
    pcap_t* const format =
        pcap_open_dead_with_tstamp_precision(link_type, 65535, PCAP_TSTAMP_PRECISION_NANO);
    pcap_dumper_t* const dumper = pcap_dump_open(format, path_.c_str());
    ASSERT_NE(dumper, nullptr);
    for (const Frame& frame : frames) {
      std::vector<uint8_t> bytes(std::max<size_t>(frame.bytes, 14));
      std::copy(frame.to.begin(), frame.to.end(), bytes.begin());
      std::copy(frame.from.begin(), frame.from.end(), bytes.begin() + 6);
      pcap_pkthdr header{};
      header.ts.tv_sec = frame.seconds;
      header.ts.tv_usec = frame.nanoseconds;
      header.len = frame.bytes;
      header.caplen = frame.bytes;
      pcap_dump(reinterpret_cast<u_char*>(dumper), &header, bytes.data());
    }
    pcap_dump_close(dumper);
    pcap_close(format);
  }

  const std::string path_;
};

TEST_F(TraceFileTest, CsvHasAPacketALineWithCommentsAndNames) {
  const auto file = TraceFromCsv(
      "time,row,destination,bytes\n"
      "0.5,0,7,64\n"
      "# nothing\n"
      "\n"
      "0.500000001, 3 ,2,1500 # one nanosecond on\r\n"
      "2.25,7,7,9018\n",
      8, "t.csv");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(Of(file->trace),
            (Packets{{0, 0, 7, 64}, {1, 3, 2, 1500}, {1'750'000'000, 7, 7, 9018}}));
}

TEST_F(TraceFileTest, CsvErrorsAreReportedTogetherWithTheirLines) {
  const auto wrong = TraceFromCsv(
      "time,row,destination,bytes\n"
      "0,8,1,64\n"
      "0,1,9,63\n"
      "soon,1,2,64\n"
      "-1,1,2,64\n"
      "1,1,2\n"
      "2,1,2,64\n"
      "1,1,2,64\n",
      8, "t.csv");
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(wrong.status().message()),
            "t.csv:2: row: 8 is outside 0..7\n"
            "t.csv:3: destination: 9 is outside 0..7\n"
            "t.csv:3: bytes: 63 is outside 64..9018\n"
            "t.csv:4: time: \"soon\" is not a number of seconds from 0 on\n"
            "t.csv:5: time: \"-1\" is not a number of seconds from 0 on\n"
            "t.csv:6: should be time,row,destination,bytes, such as 0.25,3,12,64\n"
            "t.csv:8: time: 1 is before the time of the last packet");
  EXPECT_EQ(std::string(TraceFromCsv("# empty\n", 8, "t").status().message()),
            "t: it has no packet");
  std::string many;
  for (int i = 0; i < 100; ++i) many += "0,99,0,64\n";
  EXPECT_THAT(std::string(TraceFromCsv(many, 8, "t").status().message()),
              HasSubstr("t: and 80 more errors"));
}

TEST_F(TraceFileTest, AFirstPacketThatIsMisspeltIsNotTakenForNames) {
  const auto error = [](const std::string& text) {
    return std::string(TraceFromCsv(text, 16, "t.csv").status().message());
  };
  EXPECT_EQ(error("O.25,3,12,64\n1,0,1,64\n"),
            "t.csv:1: time: \"O.25\" is not a number of seconds from 0 on");
  EXPECT_EQ(error("nan, 0,1,64\n1,0,1,64\n"),
            "t.csv:1: time: \"nan\" is not a number of seconds from 0 on");
  EXPECT_THAT(error("inf,0,1,64\n1,0,1,64\n"), HasSubstr("t.csv:1: time: inf is above"));
}

TEST_F(TraceFileTest, CsvMayBeginWithAByteOrderMark) {
  for (const std::string names : {"time, row, destination, bytes\n", ""}) {
    const auto file = TraceFromCsv("\xEF\xBB\xBF" + names + "0.5,0,7,64\n2.5,1,2,64\n", 8, "t.csv");
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(Of(file->trace), (Packets{{0, 0, 7, 64}, {2'000'000'000, 1, 2, 64}}));
  }
}

TEST_F(TraceFileTest, UnixTimesOfACsvCountFromItsFirstPacket) {
  const auto file = TraceFromCsv(
      "1753000000.999999,0,1,64\n"
      "1753000001.000000,0,1,64\n"
      "1753000001.000001,0,1,64\n"
      "1753000003.5,0,1,64\n"
      "2753000000.999999,0,1,64\n",
      8, "t.csv");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(Of(file->trace), (Packets{{0, 0, 1, 64},
                                      {1'000, 0, 1, 64},
                                      {2'000, 0, 1, 64},
                                      {2'500'001'000, 0, 1, 64},
                                      {1'000'000'000'000'000'000, 0, 1, 64}}));
  // Times with an exponent are read too, and .5 is half a second.
  EXPECT_EQ(Of(TraceFromCsv(".5,0,1,64\n15e-1,0,1,64\n", 8, "t").value().trace),
            (Packets{{0, 0, 1, 64}, {1'000'000'000, 0, 1, 64}}));
  EXPECT_EQ(std::string(TraceFromCsv("1753000000,0,1,64\n"
                                     "2753000001,0,1,64\n"
                                     "1752999999,0,1,64\n"
                                     "1e16,0,1,64\n",
                                     8, "t.csv")
                            .status()
                            .message()),
            "t.csv:2: time: 2753000001 is more than 1000000000 seconds after the first packet\n"
            "t.csv:3: time: 1752999999 is before the time of the last packet\n"
            "t.csv:4: time: 1e16 is above 1e+15 seconds");
}

TEST_F(TraceFileTest, ACaptureGivesWhatGoesFromRowToRow) {
  const std::vector<uint8_t> host{0x52, 0x54, 0, 1, 2, 3}, all(6, 0xff);
  WriteCapture({{10, 5, RowAddress(0, 3), RowAddress(0, 1), 100},
                {10, 100, all, RowAddress(0, 1), 60},
                {10, 200, RowAddress(0, 1), host, 60},
                {11, 7, RowAddress(1, 0), RowAddress(0, 3), 60},
                {11, 6, RowAddress(0, 0), RowAddress(1, 0x23), 1514}});
  const auto file = ReadTraceFile(path_, 512);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->foreign, 2u);
  EXPECT_EQ(file->padded, 1u);
  // In order of time; 60 bytes count as 64.
  EXPECT_EQ(
      Of(file->trace),
      (Packets{{0, 1, 3, 100}, {1'000'000'001, 0x123, 0, 1514}, {1'000'000'002, 3, 0x100, 64}}));
}

TEST_F(TraceFileTest, AWrongCaptureIsRefusedWithThePacket) {
  WriteCapture({{1, 0, RowAddress(0, 1), RowAddress(0, 2), 64},
                {2, 0, RowAddress(0, 8), RowAddress(0, 2), 64}});
  EXPECT_EQ(std::string(ReadTraceFile(path_, 8).status().message()),
            path_ + ": packet 2: destination: 8 is outside 0..7");
  WriteCapture({{1, 0, std::vector<uint8_t>(6, 0xff), RowAddress(0, 2), 64}});
  EXPECT_THAT(std::string(ReadTraceFile(path_, 8).status().message()),
              HasSubstr("none of its 1 frames goes from row to row"));
  WriteCapture({}, DLT_RAW);
  EXPECT_THAT(std::string(ReadTraceFile(path_, 8).status().message()),
              HasSubstr("its frames are not Ethernet but RAW"));
  // Cut in the middle of a packet.
  WriteCapture({{1, 0, RowAddress(0, 1), RowAddress(0, 2), 64}});
  ASSERT_EQ(truncate(path_.c_str(), 24 + 16 + 30), 0);
  const auto cut = ReadTraceFile(path_, 8);
  EXPECT_EQ(cut.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(cut.status().message()), HasSubstr(path_ + ": truncated"));
}

TEST_F(TraceFileTest, ACaptureIsAsLongAsATraceMayBe) {
  const std::vector<uint8_t> one = RowAddress(0, 1), two = RowAddress(0, 2), all(6, 0xff);
  WriteCapture({{5, 0, one, two, 64}, {1'000'000'005, 0, one, two, 64}});
  EXPECT_EQ(Of(ReadTraceFile(path_, 8).value().trace),
            (Packets{{0, 2, 1, 64}, {1'000'000'000'000'000'000, 2, 1, 64}}));
  WriteCapture({{5, 0, one, two, 64}, {5, 1, all, two, 64}, {1'000'000'005, 1, one, two, 64}});
  EXPECT_EQ(std::string(ReadTraceFile(path_, 8).status().message()),
            path_ + ": packet 3: time: more than 1000000000 seconds after the first packet");
}

// The blocks of pcapng for one frame from row 2 to row 1, with times in whole seconds.
std::string PcapngOfOneFrame(uint64_t seconds) {
  const uint32_t words[] = {0x0a0d0d0a,
                            28,
                            0x1a2b3c4d,
                            1,
                            0xffffffff,
                            0xffffffff,
                            28,  // section
                            1,
                            32,
                            1,
                            65'535,
                            0x00010009,
                            0,
                            0,
                            32,  // Ethernet, if_tsresol 0
                            6,
                            48,
                            0,
                            static_cast<uint32_t>(seconds >> 32),
                            static_cast<uint32_t>(seconds),
                            14,
                            64,
                            0x0000bf02,
                            0xbf020100,
                            0x02000000,
                            0,
                            48};
  return {reinterpret_cast<const char*>(words), sizeof(words)};
}

TEST_F(TraceFileTest, ATimeWhoseNanosecondsDoNotFitIsRefused) {
  std::ofstream(path_) << PcapngOfOneFrame(1'753'000'000);
  EXPECT_EQ(Of(ReadTraceFile(path_, 8).value().trace), (Packets{{0, 2, 1, 64}}));
  std::ofstream(path_) << PcapngOfOneFrame(20'000'000'000);
  EXPECT_EQ(std::string(ReadTraceFile(path_, 8).status().message()),
            path_ + ": packet 1: time: 20000000000 is not in 0..9000000000 seconds");
  std::ofstream(path_) << PcapngOfOneFrame(static_cast<uint64_t>(-100));
  EXPECT_EQ(std::string(ReadTraceFile(path_, 8).status().message()),
            path_ + ": packet 1: time: -100 is not in 0..9000000000 seconds");
}

// The classic format has 32 bits for the seconds: they end in 2106.
TEST_F(TraceFileTest, ACaptureGoesOnThroughTheYear2038) {
  const std::vector<uint8_t> one = RowAddress(0, 1), two = RowAddress(0, 2);
  WriteCapture({{2'147'483'647, 0, one, two, 64}, {2'147'483'648, 0, one, two, 64}});
  EXPECT_EQ(Of(ReadTraceFile(path_, 8).value().trace),
            (Packets{{0, 2, 1, 64}, {1'000'000'000, 2, 1, 64}}));
}

TEST_F(TraceFileTest, APipeGivesTheSameAsAFileOrIsRefused) {
  const std::string pipe = path_ + ".pipe";
  const auto read = [&pipe](const std::string& bytes) {
    EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    std::thread writer([&] { std::ofstream(pipe) << bytes; });
    auto file = ReadTraceFile(pipe, 8);
    writer.join();
    std::remove(pipe.c_str());
    return file;
  };
  EXPECT_EQ(Of(read("100.00,0,1,64\n100.50,7,2,65\n").value().trace),
            (Packets{{0, 0, 1, 64}, {500'000'000, 7, 2, 65}}));
  EXPECT_EQ(Of(read("0,0,1,64\n1,7,2,65").value().trace),
            (Packets{{0, 0, 1, 64}, {1'000'000'000, 7, 2, 65}}));
  EXPECT_THAT(std::string(read(PcapngOfOneFrame(1)).status().message()),
              HasSubstr("not from a pipe; write it to a file first"));
}

TEST_F(TraceFileTest, AnyOtherFileIsCsvAndOneThatIsNotThereIsNamed) {
  std::ofstream(path_) << "0,1,2,64\n";
  EXPECT_EQ(Of(ReadTraceFile(path_, 4).value().trace), (Packets{{0, 1, 2, 64}}));
  EXPECT_EQ(std::string(ReadTraceFile(path_, 2).status().message()),
            path_ + ":1: destination: 2 is outside 0..1");
  std::remove(path_.c_str());
  EXPECT_EQ(ReadTraceFile(path_, 4).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ReadTraceFile(testing::TempDir(), 4).status().message()),
              HasSubstr("Is a directory"));
  EXPECT_THAT(std::string(ReadTraceFile("/dev/zero", 4).status().message()),
              HasSubstr("/dev/zero: longer than"));
}

}  // namespace
}  // namespace bfly::control
