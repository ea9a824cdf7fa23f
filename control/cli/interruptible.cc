// SPDX-License-Identifier: Apache-2.0
#include "control/cli/interruptible.h"

#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void OnInterrupt(int) { interrupted = 1; }

}  // namespace

Interruptible::Interruptible() {
  interrupted = 0;
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &before_int_);
  sigaction(SIGTERM, &action, &before_term_);
  sigaction(SIGHUP, nullptr, &before_hang_up_);
  if (before_hang_up_.sa_handler == SIG_IGN) return;
  // Both the shell and the kernel may send it when a terminal is closed.
  action.sa_flags = 0;
  sigaction(SIGHUP, &action, nullptr);
}

Interruptible::~Interruptible() {
  sigaction(SIGINT, &before_int_, nullptr);
  sigaction(SIGTERM, &before_term_, nullptr);
  sigaction(SIGHUP, &before_hang_up_, nullptr);
  if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
}

bool Interrupted() { return interrupted != 0; }

std::string ProgressBar(size_t done, size_t total) {
  constexpr size_t kWidth = 30;
  const size_t filled = done * kWidth / total;
  return absl::StrCat("[", std::string(filled, '#'), std::string(kWidth - filled, '.'), "]");
}

}  // namespace bfly::control
