// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "control/topology_file/diagnostic.h"

namespace bfly::control {
namespace {

Place PlaceOf(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return Place{.line = mark.line + 1, .column = mark.column + 1};
}

// Thrown to leave the parser of yaml-cpp, which reports errors as exceptions.
struct YamlException {
  YamlError error;
};

// Returns the line of the first byte that is not UTF-8 text, or 0. NUL is not text either.
int FirstBadLine(absl::string_view text) {
  int line = 1;
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char lead = byte(i);
    size_t length = lead < 0x80   ? 1
                    : lead < 0xc2 ? 0
                    : lead < 0xe0 ? 2
                    : lead < 0xf0 ? 3
                    : lead < 0xf5 ? 4
                                  : 0;
    if (length == 0 || lead == 0 || i + length > text.size()) return line;
    for (size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return line;
    }
    const bool overlong =
        (lead == 0xe0 && byte(i + 1) < 0xa0) || (lead == 0xf0 && byte(i + 1) < 0x90);
    const bool surrogate = lead == 0xed && byte(i + 1) >= 0xa0;
    const bool beyond = lead == 0xf4 && byte(i + 1) >= 0x90;
    if (overlong || surrogate || beyond) return line;
    if (lead == '\n') ++line;
    i += length;
  }
  return 0;
}

}  // namespace

std::string Describe(const YamlNode& node) {
  switch (node.type) {
    case YamlNode::Type::kNull:
      return "nothing";
    case YamlNode::Type::kScalar:
      return absl::StrCat("\"", Quotable(node.text), "\"");
    case YamlNode::Type::kList:
      return "a list";
    case YamlNode::Type::kMap:
      return "a map of keys";
  }
  return "";
}

class YamlTree::Builder : public YAML::EventHandler {
 public:
  explicit Builder(YamlTree& tree) : tree_(tree) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(New(YamlNode::Type::kNull, mark, anchor));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto named = anchors_.find(anchor);
    if (named == anchors_.end())
      throw YamlException{{PlaceOf(mark), "an alias of an unknown anchor"}};
    for (const Open& open : open_) {
      if (open.node == named->second)
        throw YamlException{{PlaceOf(mark), "an alias inside its own anchor"}};
    }
    Add(named->second);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode* node = New(YamlNode::Type::kScalar, mark, anchor);
    node->text = value;
    node->quoted = tag == "!";
    Add(node);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Begin(New(YamlNode::Type::kList, mark, anchor), mark);
  }
  void OnSequenceEnd() override { End(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Begin(New(YamlNode::Type::kMap, mark, anchor), mark);
  }
  void OnMapEnd() override { End(); }

 private:
  struct Open {
    YamlNode* node;
    bool has_key = false;  // of a map: its last entry waits for the value
  };

  YamlNode* New(YamlNode::Type type, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (tree_.nodes_.size() >= kMaxNodes) {
      throw YamlException{{PlaceOf(mark), absl::StrCat("more than ", kMaxNodes, " values")}};
    }
    YamlNode& node = tree_.nodes_.emplace_back();
    node.type = type;
    node.place = PlaceOf(mark);
    if (anchor != 0) anchors_[anchor] = &node;
    return &node;
  }

  void Begin(YamlNode* node, const YAML::Mark& mark) {
    Add(node);
    if (open_.size() >= kMaxDepth) {
      throw YamlException{{PlaceOf(mark), absl::StrCat("nested more than ", kMaxDepth, " deep")}};
    }
    open_.push_back({node});
  }
  void End() { open_.pop_back(); }

  void Add(const YamlNode* node) {
    if (open_.empty()) {
      tree_.root_ = node;
      return;
    }
    Open& open = open_.back();
    if (open.node->type == YamlNode::Type::kList) {
      open.node->items.push_back(node);
    } else if (open.has_key) {
      open.node->entries.back().value = node;
      open.has_key = false;
    } else {
      if (node->type != YamlNode::Type::kScalar) {
        throw YamlException{
            {node->place, absl::StrCat("a key must be a word, not ", Describe(*node))}};
      }
      open.node->entries.push_back({node->text, node->place, nullptr});
      open.has_key = true;
    }
  }

  YamlTree& tree_;
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, const YamlNode*> anchors_;
};

YamlTree::YamlTree(absl::string_view text) { Parse(text); }

void YamlTree::Parse(absl::string_view text) {
  const auto fail = [this](Place place, std::string message) {
    root_ = nullptr;
    failed_ = true;
    error_ = YamlError{place, std::move(message)};
  };
  if (const int line = FirstBadLine(text); line != 0) {
    return fail({.line = line, .column = 0}, "is not UTF-8 text");
  }
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    Builder first(*this);
    if (!parser.HandleNextDocument(first)) return;
    const YamlNode* root = root_;
    Builder second(*this);
    if (parser.HandleNextDocument(second)) {
      return fail(root_ != nullptr ? root_->place : Place{},
                  "a second document begins; a topology file is one");
    }
    root_ = root;
  } catch (const YamlException& refused) {
    fail(refused.error.place, refused.error.message);
  } catch (const YAML::Exception& wrong) {
    fail(PlaceOf(wrong.mark), absl::StrCat("is not YAML: ", Quotable(wrong.msg)));
  }
}

}  // namespace bfly::control
