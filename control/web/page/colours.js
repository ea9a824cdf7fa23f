// SPDX-License-Identifier: Apache-2.0
// Light and dark, and the scale of colours. style.css has the colours themselves.

export const STEPS = 8;
const THEMES = ["system", "light", "dark"];
const system = matchMedia("(prefers-color-scheme: dark)");
let theme = localStorage.getItem("theme") || "system";
let known = null;

function shade() {
  return theme === "system" ? (system.matches ? "dark" : "light") : theme;
}

export function startTheme(button, changed) {
  const apply = () => {
    document.documentElement.dataset.shade = shade();
    button.textContent = `Colours: ${theme}`;
    button.setAttribute("aria-label", `Colours: ${theme}. Press for the next`);
    known = null;
    changed();
  };
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    localStorage.setItem("theme", theme);
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}

export function colours() {
  if (known) return known;
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  known = { scale: Array.from({ length: STEPS }, (_, i) => of(`scale-${i}`)) };
  for (const name of ["paper", "ink", "faint", "frame", "down", "path", "selected", "injected", "delivered", "dropped", "moving", "waiting"])
    known[name] = of(name);
  return known;
}

// The step of a value on a scale from 0 to most. Step 0 is nothing at all.
export function stepOf(value, most) {
  if (!(value > 0)) return 0;
  return Math.max(1, Math.min(STEPS - 1, Math.ceil((value / most) * (STEPS - 1))));
}

// The next of 1, 2, 5, 10, 20, ...
export function niceAbove(value) {
  if (!(value > 0)) return 1;
  const ten = 10 ** Math.floor(Math.log10(value));
  for (const times of [1, 2, 5, 10]) if (value <= times * ten * (1 + 1e-9)) return times * ten;
  return 10 * ten;
}

// 1234567 as "1.23M". null: the value is not known.
export function short(value) {
  if (value === null) return "not known";
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (value >= size) return `${Number((value / size).toPrecision(3))}${letter}`;
  return `${Number(value.toPrecision(3))}`;
}
