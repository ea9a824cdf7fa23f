// SPDX-License-Identifier: Apache-2.0
// One combination of the values that an experiment sweeps, whatever the experiment measures.
#pragma once

#include <any>
#include <concepts>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace bfly::control {

// What a kind of experiment sweeps, as plain values. Curve() is a name that all points of one curve
// share. ToString() is a name that no other point of the experiment has.
template <typename T>
concept SweptValues = requires(const T& values) {
  { values.d } -> std::convertible_to<int>;  // 2^d rows
  { values.Curve() } -> std::same_as<std::string>;
  { values.ToString() } -> std::same_as<std::string>;
  { values.ToJson() } -> std::same_as<nlohmann::ordered_json>;  // as in results.json
  { values.ToCsv() } -> std::same_as<std::string>;              // as in results.csv
};

// Points are immutable and cheap to copy.
class Point {
 public:
  Point() = default;
  template <SweptValues T>
  Point(T values)  // implicit: values are a point
      : point_(std::make_shared<const Contents>(Contents{values.d, values.Curve(),
                                                         values.ToString(), values.ToJson(),
                                                         values.ToCsv(), std::move(values)})) {}

  int d() const { return point_->d; }
  const std::string& Curve() const { return point_->curve; }
  const std::string& ToString() const { return point_->text; }
  const nlohmann::ordered_json& json() const { return point_->json; }
  const std::string& csv() const { return point_->csv; }

  // Returns the values again, so that claims can be functions of their kind's values and still take
  // a Point. Throws std::bad_any_cast if the point is of another kind.
  template <SweptValues T>
  operator const T&() const {
    return std::any_cast<const T&>(point_->values);
  }

 private:
  struct Contents {
    int d = 0;
    std::string curve, text;
    nlohmann::ordered_json json;
    std::string csv;
    std::any values;
  };
  std::shared_ptr<const Contents> point_;
};

}  // namespace bfly::control
