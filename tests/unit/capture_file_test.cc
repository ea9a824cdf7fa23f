// SPDX-License-Identifier: Apache-2.0
// pcapng files, which libpcap reads back, and filters. tests/system/capture_test.py has tshark read
// names and comments.
#include <gtest/gtest.h>
#include <pcap/pcap.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "control/capture_file/frame_filter.h"
#include "control/capture_file/pcapng.h"

namespace bfly::control {
namespace {

struct ReadFrame {
  uint64_t time_ns;
  uint32_t length;
  std::string data;
  friend bool operator==(const ReadFrame&, const ReadFrame&) = default;
};

std::vector<ReadFrame> ReadBack(const std::string& file) {
  std::FILE* const stream = std::tmpfile();
  EXPECT_EQ(std::fwrite(file.data(), 1, file.size(), stream), file.size());
  std::rewind(stream);
  char error[PCAP_ERRBUF_SIZE] = "";
  pcap_t* const capture =
      pcap_fopen_offline_with_tstamp_precision(stream, PCAP_TSTAMP_PRECISION_NANO, error);
  if (capture == nullptr) {
    ADD_FAILURE() << error;
    return {};
  }
  EXPECT_EQ(pcap_datalink(capture), DLT_EN10MB);
  std::vector<ReadFrame> frames;
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  int read = 0;
  while ((read = pcap_next_ex(capture, &header, &bytes)) == 1) {
    frames.push_back({static_cast<uint64_t>(header->ts.tv_sec) * 1'000'000'000 +
                          static_cast<uint64_t>(header->ts.tv_usec),
                      header->len, std::string(bytes, bytes + header->caplen)});
  }
  EXPECT_EQ(read, PCAP_ERROR_BREAK) << pcap_geterr(capture);
  pcap_close(capture);
  return frames;
}

TEST(Pcapng, IsReadBackByLibpcap) {
  std::string file = PcapngSection("bfly") + PcapngInterface("s1 r4 p1", "link", 64);
  std::vector<ReadFrame> wanted;
  // Every length modulo 4, because blocks are padded, and times that need all 64 bits.
  for (uint32_t i = 0; i < 9; ++i) {
    if (i == 4) file += PcapngInterface("h0 in", "port", 64);
    const std::string data(i, static_cast<char>('a' + i));
    const ReadFrame frame = {1'795'521'600'123'456'789 + i * 1'000'000'007ull, 100 + i, data};
    PcapngFrame block;
    block.interface = i / 4 % 2;
    block.time_ns = frame.time_ns;
    block.length = frame.length;
    block.data = data;
    block.comment = std::string(i * 3, 'c');
    if (i % 3 == 1) block.direction = PcapngFrame::Direction::kIn;
    if (i % 3 == 2) block.direction = PcapngFrame::Direction::kOut;
    file += PcapngPacket(block);
    wanted.push_back(frame);
  }
  EXPECT_EQ(ReadBack(file), wanted);
}

TEST(Pcapng, HasTheBytesOfTheStandard) {
  // Written down by hand from the draft, section 4.3, on a machine of little-endian numbers.
  const std::string packet = PcapngPacket({.interface = 2,
                                           .time_ns = 0x0102030405060708,
                                           .length = 60,
                                           .data = "abcde",
                                           .direction = PcapngFrame::Direction::kOut,
                                           .comment = "hop"});
  const std::string wanted(
      "\x06\0\0\0\x3c\0\0\0"              // type, length of the block
      "\x02\0\0\0"                        // interface
      "\x04\x03\x02\x01\x08\x07\x06\x05"  // time, high half first
      "\x05\0\0\0\x3c\0\0\0"              // captured, original length
      "abcde\0\0\0"
      "\x02\0\x04\0\x02\0\0\0"  // flags: outbound
      "\x01\0\x03\0hop\0"       // comment
      "\0\0\0\0"                // end of options
      "\x3c\0\0\0",
      60);
  EXPECT_EQ(packet, wanted);
}

TEST(FrameFilter, PassesWhatTheExpressionSays) {
  std::string icmp("\x02\xbf\0\0\0\x06\x02\xbf\0\0\0\x03\x08\0", 14);
  icmp += std::string("\x45\0\0\x1c\0\0\0\0\x40\x01\0\0\x0a\x4d\0\x13\x0a\x4d\0\x16", 20);
  std::string arp = icmp;
  arp[13] = 6;
  const auto passes = [](const std::string& expression, const std::string& frame) {
    const auto filter = FrameFilter::Compile(expression, 256);
    EXPECT_TRUE(filter.ok()) << filter.status();
    return filter.ok() && filter->Passes(frame, 60);
  };
  EXPECT_TRUE(passes("", arp));
  EXPECT_TRUE(passes("icmp", icmp));
  EXPECT_FALSE(passes("icmp", arp));
  EXPECT_TRUE(passes("arp", arp));
  EXPECT_TRUE(passes("ether src 02:bf:00:00:00:03 and host 10.77.0.22", icmp));
  EXPECT_FALSE(passes("host 10.77.0.23", icmp));
  EXPECT_TRUE(passes("len <= 60", icmp));
  EXPECT_FALSE(passes("icmp", "")) << "a packet of a built-in source has no bytes";
}

TEST(FrameFilter, SaysHowManyBytesItReads) {
  // Counted by hand: Ethernet has 14 bytes, IPv4 20 to 60, with the protocol in byte 9 and the
  // destination in bytes 16 to 19; the ports are the first four bytes of TCP.
  const auto bytes = [](const std::string& expression) {
    const auto filter = FrameFilter::Compile(expression, 256);
    EXPECT_TRUE(filter.ok()) << filter.status();
    return filter.ok() ? filter->bytes_read() : 0;
  };
  EXPECT_EQ(bytes(""), 0u);
  EXPECT_EQ(bytes("len <= 60"), 0u);
  EXPECT_EQ(bytes("ether dst 02:bf:00:00:00:03"), 6u);
  EXPECT_EQ(bytes("arp"), 14u);
  EXPECT_EQ(bytes("icmp"), 14u + 10);
  EXPECT_EQ(bytes("ip dst host 10.77.0.22"), 14u + 20);
  EXPECT_EQ(bytes("ip and tcp dst port 80"), 14u + 60 + 4);
  EXPECT_EQ(bytes("ether[299:2] = 7"), 301u);
  EXPECT_EQ(bytes("ip and udp[300:4] = 7"), 14u + 60 + 304);
  EXPECT_EQ(bytes("tcp[(tcp[12] & 0xf0) >> 2] = 22"), UINT32_MAX);
}

TEST(FrameFilter, SaysWhatIsWrong) {
  const auto filter = FrameFilter::Compile("host and", 256);
  EXPECT_EQ(filter.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(filter.status().message()).find("filter: \"host and\": "),
            std::string::npos)
      << filter.status();
}

}  // namespace
}  // namespace bfly::control
