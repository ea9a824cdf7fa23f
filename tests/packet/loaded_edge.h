// SPDX-License-Identifier: Apache-2.0
// The XDP program, loaded into the kernel but attached to no interface. BPF_PROG_TEST_RUN feeds it
// frames.
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <linux/if_xdp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "dataplane/xdp/edge_maps.h"
#include "dataplane/xdp/edge_object.h"
#include "tests/packet/xdp_frames.h"

namespace bfly::dataplane {

class LoadedEdge {
 public:
  LoadedEdge() {
    size_t bytes = 0;
    const void* object = EdgeObject(&bytes);
    object_ = bpf_object__open_mem(object, bytes, nullptr);
    if (object_ == nullptr || bpf_object__load(object_) != 0) {
      ADD_FAILURE() << "the kernel did not take the XDP program: " << strerror(errno)
                    << " (these tests need CAP_BPF and CAP_NET_ADMIN: run them as root)";
      return;
    }
    program_ = bpf_program__fd(bpf_object__find_program_by_name(object_, "bfly_edge"));
    sockets_ = bpf_object__find_map_fd_by_name(object_, "xsks_map");
    bpf_prog_info info = {};
    uint32_t size = sizeof(info);
    EXPECT_EQ(bpf_obj_get_info_by_fd(program_, &info, &size), 0);
    auto maps = EdgeMaps::OfProgram(info.id);
    if (maps.ok()) {
      maps_ = std::move(*maps);
    } else {
      ADD_FAILURE() << maps.status();
    }
  }
  ~LoadedEdge() {
    if (socket_ >= 0) close(socket_);
    bpf_object__close(object_);
  }
  LoadedEdge(const LoadedEdge&) = delete;
  LoadedEdge& operator=(const LoadedEdge&) = delete;

  bool ok() const { return maps_.has_value(); }
  EdgeMaps& maps() { return *maps_; }

  // An AF_XDP socket on queue 0, which is the queue test runs come from. It needs no interface.
  void OpenSocket() {
    socket_ = socket(AF_XDP, SOCK_RAW, 0);
    const int ring = 64;
    ASSERT_EQ(setsockopt(socket_, SOL_XDP, XDP_RX_RING, &ring, sizeof(ring)), 0) << strerror(errno);
    const uint32_t queue = 0;
    ASSERT_EQ(bpf_map_update_elem(sockets_, &queue, &socket_, BPF_ANY), 0) << strerror(errno);
  }

  void CloseSocket() {
    close(socket_);
    socket_ = -1;
  }

  struct Run {
    uint32_t action = 0;
    Frame out;
    uint32_t nanoseconds = 0;  // of one run, mean
  };
  Run Feed(const Frame& frame, int repeat = 1) const {
    Run run;
    run.out.resize(frame.size() + 256);
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = frame.data();
    options.data_size_in = static_cast<uint32_t>(frame.size());
    options.data_out = run.out.data();
    options.data_size_out = static_cast<uint32_t>(run.out.size());
    options.repeat = repeat;
    EXPECT_EQ(bpf_prog_test_run_opts(program_, &options), 0) << strerror(errno);
    run.action = options.retval;
    run.out.resize(options.data_size_out);
    run.nanoseconds = options.duration;
    return run;
  }

 private:
  bpf_object* object_ = nullptr;
  int program_ = -1;
  int sockets_ = -1;
  int socket_ = -1;
  std::optional<EdgeMaps> maps_;
};

}  // namespace bfly::dataplane
