// SPDX-License-Identifier: Apache-2.0
// Wheel, mouse and keys on the network.
import { distance } from "./view.js";

const NEAR = 7;  // pixels
const STEP = 0.8;

function linksAndBands(view, scene) {
  return view.isClose && scene.links !== null
    ? scene.links.map((link) => [{ kind: "link", ...link }, view.line(link)])
    : scene.bands.map((band) => [{ kind: "band", ...band }, view.bandLine(band, scene.band_count)]);
}

// What stands at a point of the canvas: a node, a link or nothing.
export function thingAt(view, scene, x, y) {
  const level = Math.round(view.levelAt(x)), row = Math.round(view.rowAt(y));
  const is_node = view.isClose && level >= 0 && level <= view.stages && row >= 0 && row < view.rows;
  if (is_node && Math.hypot(view.x(level) - x, view.y(row) - y) <= NEAR) return { kind: "node", level, row };
  let nearest = null, least = NEAR;
  for (const [thing, line] of linksAndBands(view, scene)) {
    if (x < line[0] - NEAR || x > line[2] + NEAR) continue;
    const away = distance(line, x, y);
    if (away < least) [nearest, least] = [thing, away];
  }
  return nearest;
}

// The node where the arrow keys stand.
function nodeOf(view, selection) {
  if (selection === null || selection.kind === "band") return { level: 0, row: view.firstRow };
  return selection.kind === "node" ? selection : { level: selection.stage, row: selection.row };
}

function nextPort(view, scene) {
  const { level, row } = nodeOf(view, scene.selection);
  const ports = (scene.links ?? []).filter((link) => link.stage === level && link.row === row);
  if (ports.length === 0) return null;
  const at = scene.selection !== null && scene.selection.kind === "link" ? ports.findIndex((link) => link.port === scene.selection.port) : -1;
  return { kind: "link", ...ports[(at + 1) % ports.length] };
}

export function startInput({ canvas, view, scene, player, select, change, moved }) {
  const zoom = (factor, at) => {
    view.zoom(factor, at);
    moved();
  };
  document.getElementById("zoom-in").addEventListener("click", () => zoom(STEP));
  document.getElementById("zoom-out").addEventListener("click", () => zoom(1 / STEP));
  document.getElementById("zoom-all").addEventListener("click", () => {
    view.all();
    moved();
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY < 0 ? STEP : 1 / STEP, view.rowAt(event.offsetY) + 0.5);
  }, { passive: false });

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { y: event.offsetY, far: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag === null) return;
    const rows = view.rowAt(drag.y) - view.rowAt(event.offsetY);
    if (!drag.far && Math.abs(event.offsetY - drag.y) < 4) return;
    drag = { y: event.offsetY, far: true };
    view.move(rows);
    moved();
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag !== null && !drag.far && !player.pickAt(event.offsetX, event.offsetY))
      select(thingAt(view, scene, event.offsetX, event.offsetY));
    drag = null;
  });

  const go = (levels, rows) => {
    const at = nodeOf(view, scene.selection);
    const node = {
      kind: "node",
      level: Math.max(0, Math.min(view.stages, at.level + levels)),
      row: Math.max(0, Math.min(view.rows - 1, at.row + rows)),
    };
    view.show(node.row);
    select(node);
    moved();
  };
  const keys = {
    "+": () => zoom(STEP), "=": () => zoom(STEP), "-": () => zoom(1 / STEP),
    0: () => {
      view.all();
      moved();
    },
    PageUp: () => {
      view.move(-view.span / 2);
      moved();
    },
    PageDown: () => {
      view.move(view.span / 2);
      moved();
    },
    ArrowLeft: () => go(-1, 0), ArrowRight: () => go(1, 0), ArrowUp: () => go(0, -1), ArrowDown: () => go(0, 1),
    p: () => select(nextPort(view, scene) ?? scene.selection),
    f: () => change(false), r: () => change(true),
    Escape: () => {
      player.pick(null);
      select(null);
    },
    " ": () => player.toggle(), ".": () => player.go(1), ",": () => player.go(-1), n: () => player.pickNext(),
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !(event.key in keys)) return;
    event.preventDefault();
    // A key that is held down is one order.
    if (event.repeat && (event.key === "f" || event.key === "r")) return;
    keys[event.key]();
  });
}
