// Text with the escape sequences of a terminal as a page. Pure.

const COLOURS = {
  30: "#4b5563",
  31: "#f87171",
  32: "#4ade80",
  33: "#facc15",
  34: "#60a5fa",
  35: "#e879f9",
  36: "#22d3ee",
  37: "#e5e7eb",
  90: "#9ca3af",
};

const escaped = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

// One of the 256 colours of xterm.
function colourOf256(number) {
  if (number < 16) return COLOURS[(number < 8 ? 30 : 82) + number] ?? "#e5e7eb";
  const hex = (value) => value.toString(16).padStart(2, "0");
  if (number >= 232) return `#${hex(8 + 10 * (number - 232)).repeat(3)}`;
  const level = (value) => hex(value === 0 ? 0 : 55 + 40 * value);
  const index = number - 16;
  return `#${level(Math.floor(index / 36))}${level(Math.floor(index / 6) % 6)}${level(index % 6)}`;
}

function apply(style, codes) {
  for (let at = 0; at < codes.length; ++at) {
    const code = codes[at];
    if (code === 0) Object.keys(style).forEach((key) => delete style[key]);
    else if (code === 1) style["font-weight"] = "bold";
    else if (code === 2) style.opacity = "0.7";
    else if (code === 39) delete style.color;
    else if (code === 49) delete style.background;
    else if ((code === 38 || code === 48) && codes[at + 1] === 5) {
      style[code === 38 ? "color" : "background"] = colourOf256(codes[at + 2]);
      at += 2;
    } else if ((code === 38 || code === 48) && codes[at + 1] === 2) {
      style[code === 38 ? "color" : "background"] = `rgb(${codes.slice(at + 2, at + 5)})`;
      at += 4;
    } else if (COLOURS[code]) style.color = COLOURS[code];
    else if (COLOURS[code - 10]) style.background = COLOURS[code - 10];
  }
}

// What is left on the screen: a carriage return begins the line again, as progress lines do.
export const linesOf = (text) =>
  text
    .replaceAll("\r\n", "\n")
    .replaceAll("\x1b[K", "")
    .trimEnd()
    .split("\n")
    .map((line) => line.slice(line.lastIndexOf("\r") + 1));

export function ansiToHtml(text) {
  const style = {};
  let html = "";
  for (const [, codes, plain] of text.matchAll(/(?:\x1b\[([\d;]*)m)?([^\x1b]*)/g)) {
    if (codes !== undefined) apply(style, codes === "" ? [0] : codes.split(";").map(Number));
    if (plain === "") continue;
    const css = Object.entries(style).map(([key, value]) => `${key}:${value}`);
    html +=
      css.length === 0 ? escaped(plain) : `<span style="${css.join(";")}">${escaped(plain)}</span>`;
  }
  return html;
}

export function ansiPage(text, columns) {
  return `<!doctype html><meta charset="utf-8"><style>
    body { margin: 0; background: #111827; }
    pre { margin: 0; padding: 12px 14px; width: ${columns + 1}ch; box-sizing: content-box;
      white-space: pre-wrap; overflow-wrap: anywhere; word-break: break-all; background: #111827; color: #e5e7eb;
      font: 13px/1.35 "DejaVu Sans Mono", "Liberation Mono", monospace; }
  </style><pre>${ansiToHtml(text)}</pre>`;
}
