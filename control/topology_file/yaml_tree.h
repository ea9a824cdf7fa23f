// SPDX-License-Identifier: Apache-2.0
// A YAML document as a tree whose nodes have line numbers. Input may be hostile: depth and size are
// bounded, and aliases are links to the node that they name, never copies.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace bfly::control {

struct Place {
  int line = 0;    // 1-based, 0: none
  int column = 0;  // 1-based, 0: none
};

struct YamlNode {
  enum class Type { kNull, kScalar, kList, kMap };
  struct Entry {
    std::string key;
    Place place;  // of the key
    const YamlNode* value = nullptr;
  };

  Type type = Type::kNull;
  Place place;
  std::string text;                    // kScalar
  bool quoted = false;                 // kScalar: written in quotes, so never a number
  std::vector<const YamlNode*> items;  // kList
  std::vector<Entry> entries;          // kMap, in the order written, duplicates included
};

// "a list", "a map of keys", "\"abc\"" and so on, for messages.
std::string Describe(const YamlNode& node);

struct YamlError {
  Place place;
  std::string message;
};

class YamlTree {
 public:
  // A topology file nests 3 deep. The rest is room for mistakes that deserve a better message.
  static constexpr int kMaxDepth = 32;
  static constexpr size_t kMaxNodes = 1'000'000;

  // Reads the one document of `text`, which is UTF-8. After an error root() is null.
  explicit YamlTree(absl::string_view text);
  YamlTree(const YamlTree&) = delete;
  YamlTree& operator=(const YamlTree&) = delete;

  // Null for an empty document and after an error.
  const YamlNode* root() const { return root_; }
  bool failed() const { return failed_; }
  const YamlError& error() const { return error_; }

 private:
  class Builder;

  void Parse(absl::string_view text);

  std::deque<YamlNode> nodes_;  // stable addresses
  const YamlNode* root_ = nullptr;
  bool failed_ = false;
  YamlError error_;
};

}  // namespace bfly::control
