// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/xdp_programs.h"

#include <cstddef>
#include <cstring>

#include "dataplane/frames/mac_address.h"
#include "dataplane/frames/wire_header.h"

namespace bfly::dataplane {
namespace {

// Instructions of BPF, as the kernel documents them ("BPF Instruction Set Architecture").
bpf_insn BpfOp(int code, int to, int from, int offset, int value) {
  return {.code = static_cast<uint8_t>(code),
          .dst_reg = static_cast<uint8_t>(to & 15),
          .src_reg = static_cast<uint8_t>(from & 15),
          .off = static_cast<int16_t>(offset),
          .imm = value};
}
bpf_insn OpSet(int to, int value) { return BpfOp(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value); }
bpf_insn OpCopy(int to, int from) { return BpfOp(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
bpf_insn OpAdd(int to, int value) { return BpfOp(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value); }
bpf_insn OpLoad(int size, int to, int from, size_t offset) {
  return BpfOp(BPF_LDX | BPF_MEM | size, to, from, static_cast<int>(offset), 0);
}
bpf_insn OpStore(int size, int to, size_t offset, int from) {
  return BpfOp(BPF_STX | BPF_MEM | size, to, from, static_cast<int>(offset), 0);
}
// Adds register `from` to a number that programs on several CPUs may count at the same time.
bpf_insn OpCount(int to, size_t offset, int from) {
  return BpfOp(BPF_STX | BPF_ATOMIC | BPF_DW, to, from, static_cast<int>(offset), BPF_ADD);
}
constexpr int kCall = BPF_JMP | BPF_CALL;
constexpr int kExit = BPF_JMP | BPF_EXIT;

// Two instructions: `to` points to what the map shares.
void PointToShared(std::vector<bpf_insn>& code, int to, int map) {
  code.push_back(BpfOp(BPF_LD | BPF_DW | BPF_IMM, to, BPF_PSEUDO_MAP_VALUE, 0, map));
  code.push_back(BpfOp(0, 0, 0, 0, 0));
}

// r6 and r7 are the beginning and the end of the frame, and r8 is the end of its addresses.
void FindFrame(std::vector<bpf_insn>& code) {
  code.push_back(OpLoad(BPF_W, 6, 1, offsetof(xdp_md, data)));
  code.push_back(OpLoad(BPF_W, 7, 1, offsetof(xdp_md, data_end)));
  code.push_back(OpCopy(8, 6));
  code.push_back(OpAdd(8, kEthernetBytes));
}

}  // namespace

std::vector<bpf_insn> CountAndDrop(int map) {
  uint32_t row_mac = 0;  // the part that all rows have, as a program loads it
  uint8_t bytes[8] = {};
  StoreMac(bytes, RowMac(0));
  std::memcpy(&row_mac, bytes, sizeof(row_mac));
  uint32_t mask = 0;
  std::memset(&mask, 0xff, 3);
  std::vector<bpf_insn> code;
  FindFrame(code);
  PointToShared(code, 1, map);
  code.push_back(OpSet(2, 1));
  code.push_back(OpCount(1, offsetof(XdpShared, arrived), 2));
  code.push_back(BpfOp(BPF_JMP | BPF_JGT | BPF_X, 8, 7, 3, 0));
  code.push_back(OpLoad(BPF_W, 3, 6, 0));
  code.push_back(BpfOp(BPF_ALU64 | BPF_AND | BPF_K, 3, 0, 0, static_cast<int>(mask)));
  code.push_back(BpfOp(BPF_JMP | BPF_JEQ | BPF_K, 3, 0, 1, static_cast<int>(row_mac)));
  code.push_back(OpCount(1, offsetof(XdpShared, strange), 2));
  code.push_back(OpSet(0, XDP_DROP));
  code.push_back(BpfOp(kExit, 0, 0, 0, 0));
  return code;
}

std::vector<bpf_insn> AddressAndRedirect(int map, int index) {
  std::vector<bpf_insn> code;
  FindFrame(code);
  code.push_back(OpSet(0, XDP_DROP));
  code.push_back(BpfOp(BPF_JMP | BPF_JLE | BPF_X, 8, 7, 1, 0));  // the verifier asks for the length
  code.push_back(BpfOp(kExit, 0, 0, 0, 0));
  code.push_back(BpfOp(kCall, 0, 0, 0, BPF_FUNC_ktime_get_ns));
  PointToShared(code, 1, map);
  code.push_back(OpLoad(BPF_DW, 2, 1, offsetof(XdpShared, offered_at)));
  code.push_back(OpStore(BPF_DW, 1, offsetof(XdpShared, offered_at), 0));
  code.push_back(BpfOp(BPF_ALU64 | BPF_SUB | BPF_X, 0, 2, 0, 0));
  code.push_back(OpLoad(BPF_DW, 2, 1, offsetof(XdpShared, longest_pause)));
  code.push_back(BpfOp(BPF_JMP | BPF_JLE | BPF_X, 0, 2, 1, 0));
  code.push_back(OpStore(BPF_DW, 1, offsetof(XdpShared, longest_pause), 0));
  code.push_back(OpLoad(BPF_DW, 2, 1, offsetof(XdpShared, offered)));
  code.push_back(OpAdd(2, 1));
  code.push_back(OpStore(BPF_DW, 1, offsetof(XdpShared, offered), 2));
  code.push_back(BpfOp(BPF_ALU64 | BPF_AND | BPF_K, 2, 0, 0, kAddressPairs - 1));
  code.push_back(BpfOp(BPF_ALU64 | BPF_LSH | BPF_K, 2, 0, 0, 4));  // 16 bytes each
  code.push_back(BpfOp(BPF_ALU64 | BPF_ADD | BPF_X, 1, 2, 0, 0));
  code.push_back(OpLoad(BPF_DW, 3, 1, offsetof(XdpShared, addresses)));
  code.push_back(OpStore(BPF_DW, 6, 0, 3));
  code.push_back(OpLoad(BPF_W, 3, 1, offsetof(XdpShared, addresses) + 8));
  code.push_back(OpStore(BPF_W, 6, 8, 3));
  code.push_back(OpSet(1, index));
  code.push_back(OpSet(2, 0));
  code.push_back(BpfOp(kCall, 0, 0, 0, BPF_FUNC_redirect));
  code.push_back(BpfOp(kExit, 0, 0, 0, 0));
  return code;
}

}  // namespace bfly::dataplane
