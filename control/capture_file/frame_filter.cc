// SPDX-License-Identifier: Apache-2.0
#include "control/capture_file/frame_filter.h"

#include <pcap/pcap.h>

#include "absl/strings/str_cat.h"

namespace bfly::control {

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

}  // namespace bfly::control
