// SPDX-License-Identifier: Apache-2.0
#include "control/reproduce/inline_svg.h"

#include <cctype>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "control/plot/palette.h"

namespace bfly::control {
namespace {

// The elements of a picture, and those that it does without.
const std::set<std::string> kKept = {"svg",     "g",        "defs", "path", "rect",  "circle",
                                     "polygon", "polyline", "line", "text", "tspan", "use"};
const std::set<std::string> kLeftOut = {"title", "desc", "filter"};
const std::set<std::string> kAttributes = {"viewBox",
                                           "width",
                                           "height",
                                           "d",
                                           "x",
                                           "y",
                                           "cx",
                                           "cy",
                                           "r",
                                           "x1",
                                           "y1",
                                           "x2",
                                           "y2",
                                           "points",
                                           "transform",
                                           "fill",
                                           "stroke",
                                           "color",
                                           "fill-opacity",
                                           "stroke-opacity",
                                           "dy",
                                           "stroke-width",
                                           "stroke-dasharray",
                                           "font-size",
                                           "font-weight",
                                           "dx",
                                           "stroke-linecap",
                                           "stroke-linejoin",
                                           "text-anchor",
                                           "font-style",
                                           "id"};
// Values that are the defaults of SVG.
const std::map<std::string, std::string> kDefaults = {{"stroke-linecap", "butt"},
                                                      {"stroke-linejoin", "miter"}};

// The custom property and the letters of the class for each colour of a figure.
const std::vector<std::pair<std::string, std::string>>& Colours() {
  static const std::vector<std::pair<std::string, std::string>> colours = [] {
    std::vector<std::pair<std::string, std::string>> all = {{kLightPalette.ink, "ink"},
                                                            {kLightPalette.paper, "paper"},
                                                            {kLightPalette.faint, "faint"},
                                                            {kLightPalette.frame, "frame"}};
    for (size_t i = 0; i < kLightPalette.curves.size(); ++i) {
      all.emplace_back(kLightPalette.curves[i], absl::StrCat("curve", i));
    }
    return all;
  }();
  return colours;
}

// "rgb( 29,  33,  37)" as "#1d2125"; other values as they are, in small letters.
std::string Hex(const std::string& colour) {
  unsigned red = 0, green = 0, blue = 0;
  if (sscanf(colour.c_str(), " rgb( %u , %u , %u )", &red, &green, &blue) == 3) {
    return absl::StrFormat("#%02x%02x%02x", red & 255, green & 255, blue & 255);
  }
  std::string lower = colour;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// The name of the class that gives `attribute` this colour; empty if the figure's palette does not
// have the colour.
std::string ColourClass(const std::string& attribute, const std::string& value) {
  const std::string hex = value == "black" ? kLightPalette.ink : Hex(value);
  for (const auto& [colour, name] : Colours()) {
    if (hex == colour) return absl::StrCat(attribute, "-", name);
  }
  return "";
}

// gnuplot ends a list of points with blanks.
std::string Trimmed(const char* text) { return std::string(absl::StripAsciiWhitespace(text)); }

class Cleaner {
 public:
  explicit Cleaner(std::string prefix) : prefix_(std::move(prefix)) {}

  // Copies the children of `from` to `to`.
  absl::Status Children(const pugi::xml_node& from, pugi::xml_node to) {
    for (const pugi::xml_node& child : from) {
      if (child.type() == pugi::node_pcdata) {
        const std::string name = to.name();
        if (name == "text" || name == "tspan") {
          to.append_child(pugi::node_pcdata).set_value(child.value());
        }
        continue;
      }
      if (child.type() != pugi::node_element) continue;
      const std::string name = child.name();
      if (kLeftOut.contains(name)) continue;
      if (!kKept.contains(name)) {
        return absl::DataLossError(absl::StrCat("it has an element <", name, ">"));
      }
      if (absl::Status status = Element(child, to); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status Attributes(const pugi::xml_node& from, pugi::xml_node to) {
    std::string classes;
    for (const pugi::xml_attribute& attribute : from.attributes()) {
      const std::string name = attribute.name(), value = Trimmed(attribute.value());
      if (name == "xlink:href" || name == "href") {
        if (!absl::StartsWith(value, "#"))
          return absl::DataLossError("it refers outside of itself");
        to.append_attribute("href") = absl::StrCat("#", prefix_, value.substr(1)).c_str();
        continue;
      }
      const auto usual = kDefaults.find(name);
      if (!kAttributes.contains(name) || (usual != kDefaults.end() && usual->second == value)) {
        continue;
      }
      const bool is_colour = name == "fill" || name == "stroke" || name == "color";
      const std::string colour = is_colour ? ColourClass(name, value) : "";
      if (!colour.empty()) {
        absl::StrAppend(&classes, classes.empty() ? "" : " ", colour);
      } else if (name != "id") {
        to.append_attribute(name.c_str()) = value.c_str();
      } else if (to.name() != std::string("g")) {  // nothing refers to a group
        to.append_attribute("id") = absl::StrCat(prefix_, value).c_str();
      }
    }
    if (!classes.empty()) to.append_attribute("class") = classes.c_str();
    return absl::OkStatus();
  }

 private:
  absl::Status Element(const pugi::xml_node& from, pugi::xml_node to) {
    const std::string name = from.name();
    pugi::xml_node copy = to.append_child(from.name());
    if (absl::Status status = Attributes(from, copy); !status.ok()) return status;
    if (absl::Status status = Children(from, copy); !status.ok()) return status;
    // gnuplot opens a group whenever a pen changes, also where nothing is drawn with it.
    const bool holds = name == "g" || name == "text" || name == "tspan";
    if (holds && !copy.first_child()) to.remove_child(copy);
    return absl::OkStatus();
  }

  const std::string prefix_;
};

}  // namespace

absl::StatusOr<std::string> InlineSvg(const std::string& svg, const std::string& prefix,
                                      const std::string& label) {
  pugi::xml_document read, written;
  const pugi::xml_parse_result parsed = read.load_buffer(svg.data(), svg.size());
  if (!parsed) return absl::DataLossError(absl::StrCat("it is not XML: ", parsed.description()));
  const pugi::xml_node root = read.document_element();
  if (root.name() != std::string("svg")) {
    return absl::DataLossError(absl::StrCat("it is a <", root.name(), ">, not an <svg>"));
  }
  pugi::xml_node copy = written.append_child("svg");
  copy.append_attribute("role") = "img";
  copy.append_attribute("aria-label") = label.c_str();
  Cleaner cleaner(prefix);
  if (absl::Status status = cleaner.Attributes(root, copy); !status.ok()) return status;
  if (absl::Status status = cleaner.Children(root, copy); !status.ok()) return status;
  std::ostringstream text;
  written.save(text, "", pugi::format_raw | pugi::format_no_declaration, pugi::encoding_utf8);
  return text.str();
}

std::string SvgColourRules() {
  std::string rules;
  for (const auto& [colour, name] : Colours()) {
    for (const char* attribute : {"fill", "stroke", "color"}) {
      absl::StrAppend(&rules, "svg .", attribute, "-", name, "{", attribute, ":var(--", name,
                      ")}\n");
    }
  }
  return rules;
}

}  // namespace bfly::control
