// SPDX-License-Identifier: Apache-2.0
// Which rows are in view, and where nodes and links stand on the canvas. Columns are levels; all of them are always in
// view.

const MARGIN = 24;
const LEAST_ROWS = 4;
// The links that one answer of /api/links may hold leave the rows in view or lead to them.
const MOST_LINKS = 4096;
const MOST_BANDS = 64;

export class View {
  constructor() {
    this.width = 1;
    this.height = 1;
    this.setNetwork({ rows: 2, stages: 1, ports: 2 });
  }

  setNetwork({ rows, stages, ports }) {
    this.rows = rows;
    this.stages = stages;
    this.ports = ports;
    // Names of rows stand left of the nodes.
    this.left = Math.max(MARGIN, 10 + 7 * `${rows - 1}`.length);
    this.all();
  }

  all() {
    this.top = 0;
    this.span = this.rows;
  }

  // Zooms so that the row at `at` (in rows, may be a fraction) stays where it is.
  zoom(factor, at = this.top + this.span / 2) {
    const span = Math.min(this.rows, Math.max(Math.min(LEAST_ROWS, this.rows), this.span * factor));
    this.top = at - ((at - this.top) * span) / this.span;
    this.span = span;
    this.move(0);
  }

  move(rows) {
    this.top = Math.max(0, Math.min(this.rows - this.span, this.top + rows));
  }

  // Brings a row into view, zoomed in far enough to see its links.
  show(row) {
    const close = Math.max(LEAST_ROWS, Math.floor(MOST_LINKS / (this.stages * this.ports)) / 2);
    if (this.span > close) this.span = Math.min(this.rows, close);
    if (row < this.top || row + 1 > this.top + this.span) this.top = row + 0.5 - this.span / 2;
    this.move(0);
  }

  get firstRow() {
    return Math.max(0, Math.floor(this.top));
  }
  get lastRow() {
    return Math.min(this.rows - 1, Math.ceil(this.top + this.span) - 1);
  }
  // Whether links are drawn one by one.
  get isClose() {
    return (this.lastRow - this.firstRow + 1) * this.stages * this.ports <= MOST_LINKS;
  }
  get bands() {
    return Math.min(MOST_BANDS, this.rows);
  }

  x(level) {
    return this.left + (level * (this.width - this.left - MARGIN)) / this.stages;
  }
  // The middle of a row, which may be a fraction.
  y(row) {
    return MARGIN + ((row + 0.5 - this.top) * (this.height - 2 * MARGIN)) / this.span;
  }
  levelAt(x) {
    return ((x - this.left) * this.stages) / (this.width - this.left - MARGIN);
  }
  rowAt(y) {
    return ((y - MARGIN) * this.span) / (this.height - 2 * MARGIN) + this.top - 0.5;
  }

  // Parallel links run beside each other.
  #beside(port) {
    const parallel = this.ports / 2;
    return parallel > 1 ? ((port % parallel) / (parallel - 1) - 0.5) * 0.4 : 0;
  }
  // The line of a link, as [x0, y0, x1, y1].
  line(link) {
    const beside = this.#beside(link.port);
    return [this.x(link.stage), this.y(link.row + beside), this.x(link.stage + 1), this.y(link.next_row + beside)];
  }
  // The middle row of a band.
  bandRow(band, bands) {
    return ((band + 0.5) * this.rows) / bands - 0.5;
  }
  bandLine(link, bands) {
    return [this.x(link.stage), this.y(this.bandRow(link.from, bands)), this.x(link.stage + 1), this.y(this.bandRow(link.to, bands))];
  }
}

// The distance of a point from a line.
export function distance([x0, y0, x1, y1], x, y) {
  const length = (x1 - x0) ** 2 + (y1 - y0) ** 2;
  const along = Math.max(0, Math.min(1, ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length));
  return Math.hypot(x0 + along * (x1 - x0) - x, y0 + along * (y1 - y0) - y);
}
