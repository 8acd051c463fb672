// The learning curve on the audit stream, as SVG.

const SVG = "http://www.w3.org/2000/svg";
const [LEFT, RIGHT, TOP, BOTTOM] = [48, 470, 10, 134];

function add(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
}

export function drawCurve(svg, caption, points) {
  const most = Math.max(points[points.length - 1].judgements, 1);
  const top = Math.max(0.01, ...points.map((point) => point.high));
  const x = (point) => LEFT + ((RIGHT - LEFT) * point.judgements) / most;
  const y = (value) => BOTTOM - ((BOTTOM - TOP) * value) / top;
  svg.replaceChildren();
  add(svg, "line", { x1: LEFT, y1: BOTTOM, x2: RIGHT, y2: BOTTOM, class: "axis" });
  add(svg, "line", { x1: LEFT, y1: TOP, x2: LEFT, y2: BOTTOM, class: "axis" });
  const upper = points.map((point) => `${x(point)},${y(point.high)}`);
  const lower = points.map((point) => `${x(point)},${y(point.low)}`).reverse();
  add(svg, "polygon", { points: [...upper, ...lower].join(" "), class: "band" });
  const line = points.map((point) => `${x(point)},${y(point.error)}`).join(" ");
  add(svg, "polyline", { points: line, class: "line" });
  add(svg, "text", { x: LEFT - 6, y: TOP + 8, "text-anchor": "end" }, `${(100 * top).toFixed(1)} %`);
  add(svg, "text", { x: LEFT - 6, y: BOTTOM, "text-anchor": "end" }, "0");
  add(svg, "text", { x: RIGHT, y: BOTTOM + 16, "text-anchor": "end" }, `${most} judgements learned`);
  const [first, last] = [points[0], points[points.length - 1]];
  const after = (point) =>
    point.judgements === 0 ? "at the start" : `after ${point.judgements} judgements`;
  const percent = (value) => `${(100 * value).toFixed(1)} %`;
  caption.textContent =
    `Ranking error on audit pairs, which are never learned from: ${percent(first.error)} ${after(first)}, ` +
    `${percent(last.error)} ${after(last)} (95 % interval ${percent(last.low)} to ${percent(last.high)}). ` +
    "It is the chance that a different pair is closer than a same pair.";
}
