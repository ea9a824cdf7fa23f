// SPDX-License-Identifier: Apache-2.0
#include "control/capture_file/frame_filter.h"

#include <pcap/pcap.h>

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

// What BPF_MSH loads is at most the longest header of IPv4.
constexpr uint64_t kMostOfMsh = 60;

uint64_t SizeOfLoad(uint16_t code) {
  switch (BPF_SIZE(code)) {
    case BPF_W:
      return 4;
    case BPF_H:
      return 2;
    default:
      return 1;
  }
}

// The largest value of the index register, from which loads of BPF_IND count. Only constants and
// lengths of headers have a bound.
uint64_t LargestIndex(std::span<const bpf_insn> code) {
  uint64_t largest = 0;
  for (const bpf_insn& one : code) {
    if (BPF_CLASS(one.code) == BPF_MISC && BPF_MISCOP(one.code) == BPF_TAX) return UINT32_MAX;
    if (BPF_CLASS(one.code) != BPF_LDX) continue;
    switch (BPF_MODE(one.code)) {
      case BPF_MSH:
        largest = std::max(largest, kMostOfMsh);
        break;
      case BPF_IMM:
        largest = std::max<uint64_t>(largest, one.k);
        break;
      default:
        return UINT32_MAX;
    }
  }
  return largest;
}

// Where the last byte that the instruction reads ends; 0 if it reads none.
uint64_t EndOfRead(const bpf_insn& one, uint64_t largest_index) {
  const bool loads = BPF_CLASS(one.code) == BPF_LD;
  if (loads && BPF_MODE(one.code) == BPF_ABS) return one.k + SizeOfLoad(one.code);
  if (loads && BPF_MODE(one.code) == BPF_IND) return largest_index + one.k + SizeOfLoad(one.code);
  if (BPF_CLASS(one.code) == BPF_LDX && BPF_MODE(one.code) == BPF_MSH) return one.k + uint64_t{1};
  return 0;
}

}  // namespace

struct FrameFilter::Program {
  ~Program() { pcap_freecode(&code); }
  bpf_program code = {};
};

absl::StatusOr<FrameFilter> FrameFilter::Compile(const std::string& expression, uint32_t snaplen) {
  FrameFilter filter;
  if (expression.empty()) return filter;
  const std::unique_ptr<pcap_t, void (*)(pcap_t*)> ethernet(
      pcap_open_dead(DLT_EN10MB, static_cast<int>(snaplen)), pcap_close);
  if (ethernet == nullptr) return absl::ResourceExhaustedError("libpcap has no memory");
  auto program = std::make_shared<Program>();
  if (pcap_compile(ethernet.get(), &program->code, expression.c_str(), /*optimize=*/1,
                   PCAP_NETMASK_UNKNOWN) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("filter: \"", expression,
                                                   "\": ", pcap_geterr(ethernet.get()),
                                                   "; see pcap-filter(7), for example 'icmp'"));
  }
  filter.program_ = std::move(program);
  return filter;
}

bool FrameFilter::Passes(absl::string_view data, uint32_t length) const {
  if (program_ == nullptr) return true;
  pcap_pkthdr header = {};
  header.caplen = static_cast<bpf_u_int32>(data.size());
  header.len = length;
  return pcap_offline_filter(&program_->code, &header,
                             reinterpret_cast<const u_char*>(data.data())) != 0;
}

uint32_t FrameFilter::bytes_read() const {
  if (program_ == nullptr) return 0;
  const std::span<const bpf_insn> code(program_->code.bf_insns, program_->code.bf_len);
  const uint64_t largest_index = LargestIndex(code);
  uint64_t end = 0;
  for (const bpf_insn& one : code) end = std::max(end, EndOfRead(one, largest_index));
  return static_cast<uint32_t>(std::min<uint64_t>(end, UINT32_MAX));
}

}  // namespace bfly::control
