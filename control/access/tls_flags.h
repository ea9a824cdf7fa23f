// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace bfly::control {

// The files of one side of an encrypted connection: paths of PEM files, "" where none was given.
struct TlsFlags {
  std::string certificate;
  std::string key;
  std::string ca;  // signed the certificates of the other side
};

}  // namespace bfly::control
