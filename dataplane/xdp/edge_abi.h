// SPDX-License-Identifier: Apache-2.0
// The interface between the XDP program and its loader. It is plain C, because both clang -target
// bpf and C++ read it.
#pragma once

#include <linux/types.h>

// Row counters come in chunks of this many rows, so that a fabric takes memory only for its own
// rows.
#define EDGE_ROWS_PER_CHUNK 4096
#define EDGE_MAX_CHUNKS 256  // times EDGE_ROWS_PER_CHUNK is 2^20 rows, the largest network
#define EDGE_MAX_QUEUES 256

enum edge_mode {
  EDGE_MODE_MAC = 0,   // row = low 24 bits of destination MAC 02:bf:00:RR:RR:RR
  EDGE_MODE_IPV4 = 1,  // row = destination IPv4 address - ipv4_base
};

enum edge_role {
  EDGE_HOST = 0,   // hosts and testers behind the interface
  EDGE_TRUNK = 1,  // another data plane: only trunk frames belong to the fabric
};

// One for each interface. The loader writes it while `ready` is 0; then it is only read.
struct edge_config {
  __u32 ready;  // 0: every frame passes to the kernel
  __u32 mode;
  __u32 role;
  __u32 rows;
  __u32 tag_bits;
  __u32 ipv4_base;       // address of row 0, host byte order
  __u32 ipv4_addresses;  // number of addresses in the block; 0 stands for 2^32
  __u32 max_frame_bytes;
  __u64 owner_start;  // when the owner started, clock ticks since boot: a pid alone may be reused
  __u32 owner_pid;    // the process whose sockets are in xsks_map
  __u16 field_bits;   // bits of a hop in a tag (topologies/tag_layout.h)
  __u16 multiplicity;
  // How the directions of a tag's last hops, read as a row, stand to the output row: LastHops in
  // topologies/tag.h.
  __u16 last_reversed;
  __u16 last_turn;
  __u32 dimension;
};

// The outcome of a frame. Every frame counts exactly once.
enum edge_count {
  EDGE_TO_ROW = 0,       // to the fabric, for one row; also counted by row
  EDGE_FLOOD = 1,        // to the fabric, for every row
  EDGE_TO_TRUNK = 2,     // to the fabric, from another data plane
  EDGE_NO_SOCKET = 3,    // for the fabric, but the queue has no socket: passed to the kernel
  EDGE_FOREIGN = 4,      // not for the fabric: passed to the kernel
  EDGE_NOT_READY = 5,    // the loader had not finished: passed to the kernel
  EDGE_TRUNCATED = 6,    // dropped: shorter than the headers it announces
  EDGE_OVERSIZED = 7,    // dropped: longer than the fabric's frame limit
  EDGE_BAD_HEADER = 8,   // dropped: a bfly header with false contents
  EDGE_UNKNOWN_ROW = 9,  // dropped: the row is outside the network
  EDGE_COUNTS = 10,
};
