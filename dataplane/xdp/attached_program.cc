// SPDX-License-Identifier: Apache-2.0
#include "dataplane/xdp/attached_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <net/if.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "dataplane/runtime/device_string.h"
#include "dataplane/runtime/owned_fd.h"

namespace bfly::dataplane {

absl::StatusOr<AttachedProgram> AttachedProgram::On(const std::string& interface, int index) {
  AttachedProgram program;
  program.interface_ = interface;
  program.index_ = index;
  if (const int error = bpf_xdp_query_id(index, 0, &program.id_); error != 0) {
    return absl::UnavailableError(absl::StrCat(
        "interface ", interface, ": cannot ask for its XDP program: ", strerror(-error)));
  }
  return program;
}

AttachedProgram AttachedProgram::OfUser(absl::string_view device) {
  if (!DeviceArgument(device, "xdp_prog").has_value()) return {};
  const std::string interface = DeviceArgument(device, "iface").value_or("");
  auto program = On(interface, static_cast<int>(if_nametoindex(interface.c_str())));
  return program.ok() ? *std::move(program) : AttachedProgram();
}

absl::Status AttachedProgram::Detach() const {
  if (id_ == 0) return absl::UnavailableError("there is no XDP program to detach");
  const OwnedFd program(bpf_prog_get_fd_by_id(id_));
  LIBBPF_OPTS(bpf_xdp_attach_opts, options);
  options.old_prog_fd = program.get();
  if (const int error = bpf_xdp_detach(index_, XDP_FLAGS_REPLACE, &options); error != 0) {
    return absl::UnavailableError(absl::StrCat(
        "interface ", interface_, ": cannot detach XDP program ", id_, ": ", strerror(-error)));
  }
  return absl::OkStatus();
}

}  // namespace bfly::dataplane
