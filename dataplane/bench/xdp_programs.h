// SPDX-License-Identifier: Apache-2.0
// The two XDP programs of the load of AF_XDP ports, as instructions for the kernel.
#pragma once

#include <linux/bpf.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace bfly::dataplane {

// A power of two.
inline constexpr uint32_t kAddressPairs = 1024;

// What the two programs share with the process of the load, which reads by relaxed loads. It is the
// only value of an array map.
struct XdpShared {
  std::atomic<uint64_t> offered;     // the program that sends: writes
  std::atomic<uint64_t> offered_at;  // likewise; the last frame, in nanoseconds of CLOCK_MONOTONIC
  // Between two frames, in nanoseconds. The program that sends writes longer ones, and the process
  // of the load writes 0.
  std::atomic<uint64_t> longest_pause;
  std::atomic<uint64_t> arrived;  // the program that counts: adds
  std::atomic<uint64_t> strange;  // likewise; of `arrived`: frames that are not for a row
  // Destination and source MAC addresses, as they stand in a frame.
  uint8_t addresses[kAddressPairs][16];
};

// The functions below take the file descriptor of that map.

// Counts a frame, looks whether its destination is a row, and drops it.
std::vector<bpf_insn> CountAndDrop(int map);

// Gives a frame the next pair of addresses, and sends it out of the interface with this index.
std::vector<bpf_insn> AddressAndRedirect(int map, int index);

}  // namespace bfly::dataplane
