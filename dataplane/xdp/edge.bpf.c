// SPDX-License-Identifier: Apache-2.0
// The XDP program at a kernel interface of the fabric. It sends the fabric's frames to the AF_XDP
// socket of their queue, passes foreign frames to the kernel and drops malformed ones. It reads a
// frame exactly as dataplane/frames/frame.h does; tests/packet/xdp_agreement_test.cc checks that
// the two agree.
// clang-format off: bpf_helpers.h takes its types from linux/bpf.h.
#include <linux/bpf.h>
// clang-format on
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <linux/if_ether.h>
#include <linux/ip.h>

#include "edge_abi.h"

struct {
  __uint(type, BPF_MAP_TYPE_XSKMAP);  // DPDK's net_af_xdp looks for this name
  __uint(max_entries, EDGE_MAX_QUEUES);
  __type(key, __u32);
  __type(value, __u32);
} xsks_map SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct edge_config);
} edge_config SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, EDGE_COUNTS);
  __type(key, __u32);
  __type(value, __u64);
} edge_counts SEC(".maps");

struct row_chunk {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, EDGE_ROWS_PER_CHUNK);
  __type(key, __u32);
  __type(value, __u64);
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, EDGE_MAX_CHUNKS);
  __type(key, __u32);
  __array(values, struct row_chunk);
} edge_rows SEC(".maps");

#define VLAN_TAGS 2
#define BFLY_ETHERTYPE 0x88b5

struct vlan_tag {
  __be16 control;
  __be16 protocol;
};

// ARP for IPv4 over Ethernet, RFC 826. <linux/if_arp.h> would pull in libc.
struct arp_ipv4 {
  __be16 hardware;
  __be16 protocol;
  __u8 hardware_len;
  __u8 protocol_len;
  __be16 operation;
  __u8 sender_mac[ETH_ALEN];
  __u8 sender_ip[4];
  __u8 target_mac[ETH_ALEN];
  __u8 target_ip[4];
} __attribute__((packed));

// dataplane/frames/wire_header.h.
struct wire_header {
  __u8 version;
  __u8 type;
  __u8 header_bytes;
  __u8 flags;
  __be32 row;
  __be64 tag;
  __be32 sequence;
  __be16 stage;
  __be16 inner_bytes;
  __be64 time;
} __attribute__((packed));
#define WIRE_VERSION 1
#define WIRE_TESTER 1
#define WIRE_NAMES_INPUT 1
#define WIRE_FIXED_PORTS 8
#define MAX_TAG_BITS 62
#define MAX_DIMENSION 20  // of a network of 2^20 rows

struct verdict {
  enum edge_count count;
  __u32 row;  // only for EDGE_TO_ROW
};

static __always_inline struct verdict only(enum edge_count count) {
  return (struct verdict){count, 0};
}

static __always_inline struct verdict to_row(const struct edge_config* config, __u32 row) {
  if (row >= config->rows) return only(EDGE_UNKNOWN_ROW);
  return (struct verdict){EDGE_TO_ROW, row};
}

static __always_inline int is_group_mac(const __u8* mac) { return mac[0] & 1; }

// 02:bf:KK:... is locally administered, with "bf" as a mark. KK 00 names a row, 01 an end of a
// trunk.
static __always_inline int is_fabric_mac(const __u8* mac, __u8 kind) {
  return mac[0] == 0x02 && mac[1] == 0xbf && mac[2] == kind;
}

static __always_inline int in_block(const struct edge_config* config, __u32 address) {
  return config->ipv4_addresses == 0 || address - config->ipv4_base < config->ipv4_addresses;
}

static __always_inline struct verdict read_arp(const struct edge_config* config,
                                               const void* payload, const void* end) {
  const struct arp_ipv4* arp = payload;
  if ((const void*)(arp + 1) > end) return only(EDGE_TRUNCATED);
  if (arp->hardware != bpf_htons(1) || arp->protocol != bpf_htons(ETH_P_IP) ||
      arp->hardware_len != ETH_ALEN || arp->protocol_len != 4)
    return only(EDGE_FOREIGN);
  const __u32 target = (__u32)arp->target_ip[0] << 24 | (__u32)arp->target_ip[1] << 16 |
                       (__u32)arp->target_ip[2] << 8 | arp->target_ip[3];
  if (!in_block(config, target)) return only(EDGE_FOREIGN);
  return to_row(config, target - config->ipv4_base);
}

static __always_inline struct verdict read_ipv4(const struct edge_config* config, const __u8* to,
                                                const void* payload, const void* end) {
  const struct iphdr* ip = payload;
  if ((const void*)(ip + 1) > end) return only(EDGE_TRUNCATED);
  if (ip->version != 4 || ip->ihl < 5) return only(EDGE_FOREIGN);
  const __u32 present = end - payload;
  if (ip->ihl * 4u > present || bpf_ntohs(ip->tot_len) > present) return only(EDGE_TRUNCATED);
  const __u32 destination = bpf_ntohl(ip->daddr);
  if (in_block(config, destination)) return to_row(config, destination - config->ipv4_base);
  return only(is_group_mac(to) ? EDGE_FLOOD : EDGE_FOREIGN);
}

// Where a direction has several ports: the directions of the last hops, read as a row, or ~0 where
// the tag names a port that is none.
static __always_inline __u32 last_directions(const struct edge_config* config, __u64 path) {
  const __u32 port_bits = (config->field_bits - 1) & 31;
  __u32 row = 0;
  for (__u32 hop = 0; hop < MAX_TAG_BITS / 2; ++hop) {
    if (hop * config->field_bits >= config->tag_bits) break;
    if ((path & ((1u << port_bits) - 1)) >= config->multiplicity) return ~0u;
    path >>= port_bits;
    row |= (__u32)(path & 1) << hop;
    path >>= 1;
  }
  return row & (config->rows - 1);
}

// The output row of a path whose last directions, read as a row, are these.
static __always_inline __u32 output_of(const struct edge_config* config, __u32 directions) {
  const __u32 dimension = config->dimension & 31;
  const __u32 turn = config->last_turn & 31;
  if (config->last_reversed) {
    __u32 row = 0;
    for (__u32 bit = 0; bit < MAX_DIMENSION; ++bit) {
      if (bit >= dimension) break;
      row = row << 1 | (directions >> bit & 1);
    }
    return row;
  }
  if (turn == 0) return directions;
  return (directions >> turn | directions << ((dimension - turn) & 31)) & (config->rows - 1);
}

// A tester's frame brings its tag along: the hops it goes, then a one bit, then zeros.
static __always_inline struct verdict read_tester(const struct edge_config* config,
                                                  const void* payload, const void* end) {
  const struct wire_header* h = payload;
  if ((const void*)(h + 1) > end) return only(EDGE_TRUNCATED);
  const __u32 row = bpf_ntohl(h->row);
  const __u64 tag = bpf_be64_to_cpu(h->tag);
  const __u32 present = end - (const void*)(h + 1);
  const __u32 last_bit = (63 - config->tag_bits) & 63;
  const __u8 flags = WIRE_NAMES_INPUT | (config->multiplicity > 1 ? WIRE_FIXED_PORTS : 0);
  const int names_input = h->flags & WIRE_NAMES_INPUT;
  if (h->version != WIRE_VERSION || h->type != WIRE_TESTER || h->header_bytes != sizeof(*h) ||
      (h->flags & ~flags) || h->stage || row >= config->rows || (!names_input && row) ||
      bpf_ntohs(h->inner_bytes) > present || (tag & ((2ULL << last_bit) - 1)) != 1ULL << last_bit)
    return only(EDGE_BAD_HEADER);
  const __u64 path = tag >> (last_bit + 1);
  const __u32 directions =
      config->multiplicity <= 1 ? (__u32)path & (config->rows - 1) : last_directions(config, path);
  if (directions == ~0u) return only(EDGE_BAD_HEADER);
  return to_row(config, output_of(config, directions));
}

static __always_inline struct verdict read_frame(const struct edge_config* config,
                                                 const void* frame, const void* end) {
  const struct ethhdr* eth = frame;
  if ((const void*)(eth + 1) > end) return only(EDGE_TRUNCATED);
  const __u8* to = eth->h_dest;
  const void* payload = eth + 1;
  __be16 type = eth->h_proto;

  if (config->role == EDGE_TRUNK) {
    if (type != bpf_htons(BFLY_ETHERTYPE) || !is_fabric_mac(to, 0x01)) return only(EDGE_FOREIGN);
    return only(payload + sizeof(struct wire_header) > end ? EDGE_TRUNCATED : EDGE_TO_TRUNK);
  }

#pragma unroll
  for (int tags = 0; tags < VLAN_TAGS; ++tags) {
    if (type != bpf_htons(ETH_P_8021Q) && type != bpf_htons(ETH_P_8021AD)) break;
    const struct vlan_tag* vlan = payload;
    if ((const void*)(vlan + 1) > end) return only(EDGE_TRUNCATED);
    type = vlan->protocol;
    payload = vlan + 1;
  }

  if (type == bpf_htons(BFLY_ETHERTYPE)) return read_tester(config, payload, end);
  if (config->mode == EDGE_MODE_MAC) {
    if (is_fabric_mac(to, 0x00))
      return to_row(config, (__u32)to[3] << 16 | (__u32)to[4] << 8 | to[5]);
  } else {
    if (type == bpf_htons(ETH_P_IP)) return read_ipv4(config, to, payload, end);
    if (type == bpf_htons(ETH_P_ARP)) return read_arp(config, payload, end);
  }
  return only(is_group_mac(to) ? EDGE_FLOOD : EDGE_FOREIGN);
}

static __always_inline int is_redirected(enum edge_count count) {
  return count == EDGE_TO_ROW || count == EDGE_FLOOD || count == EDGE_TO_TRUNK;
}

static __always_inline void count(enum edge_count which) {
  const __u32 key = which;
  __u64* counter = bpf_map_lookup_elem(&edge_counts, &key);
  if (counter) *counter += 1;
}

static __always_inline void count_row(__u32 row) {
  const __u32 chunk_key = row / EDGE_ROWS_PER_CHUNK;
  void* chunk = bpf_map_lookup_elem(&edge_rows, &chunk_key);
  if (!chunk) return;
  const __u32 row_key = row % EDGE_ROWS_PER_CHUNK;
  __u64* counter = bpf_map_lookup_elem(chunk, &row_key);
  if (counter) *counter += 1;
}

SEC("xdp")
int bfly_edge(struct xdp_md* ctx) {
  const __u32 zero = 0;
  const struct edge_config* config = bpf_map_lookup_elem(&edge_config, &zero);
  if (!config || !config->ready) {
    count(EDGE_NOT_READY);
    return XDP_PASS;
  }

  const void* frame = (const void*)(long)ctx->data;
  const void* end = (const void*)(long)ctx->data_end;
  const struct verdict verdict = read_frame(config, frame, end);
  if (!is_redirected(verdict.count)) {
    count(verdict.count);
    return verdict.count == EDGE_FOREIGN ? XDP_PASS : XDP_DROP;
  }
  if (end - frame > config->max_frame_bytes) {
    count(EDGE_OVERSIZED);
    return XDP_DROP;
  }

  const long action = bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_PASS);
  if (action != XDP_REDIRECT) {
    count(EDGE_NO_SOCKET);
    return action;
  }
  count(verdict.count);
  if (verdict.count == EDGE_TO_ROW) count_row(verdict.row);
  return XDP_REDIRECT;
}

char _license[] SEC("license") = "Apache-2.0";
