// SPDX-License-Identifier: Apache-2.0
// The strip of rates and drops over time.
import { colours, niceAbove, short } from "./colours.js";

const SECONDS = 600;
const LINES = [["injected_rate", "injected"], ["delivered_rate", "delivered"], ["drop_rate", "dropped"]];

export function drawHistory(context, width, height, moments) {
  const all = colours();
  context.fillStyle = all.paper;
  context.fillRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = all.ink;
  if (moments.length === 0) return;
  const most = niceAbove(Math.max(...moments.flatMap((moment) => LINES.map(([name]) => moment[name]))));
  const x = (moment) => width - 4 - (moment.age_ns / 1e9 / SECONDS) * (width - 60);
  const y = (value) => Math.round(height - 16 - (value / most) * (height - 24));
  context.strokeStyle = all.faint;
  context.lineWidth = 1;
  for (const value of [0, most / 2, most]) {
    context.beginPath();
    context.moveTo(52, y(value));
    context.lineTo(width, y(value));
    context.stroke();
    context.textAlign = "right";
    context.fillText(short(value), 48, y(value) + 4);
  }
  context.textAlign = "left";
  context.fillText("10 minutes ago", 56, height - 3);
  context.textAlign = "right";
  context.fillText("now", width - 4, height - 3);
  context.lineWidth = 2;
  for (const [name, colour] of LINES) {
    context.strokeStyle = all[colour];
    context.beginPath();
    for (const moment of moments) context.lineTo(x(moment), y(moment[name]));
    context.stroke();
  }
}
