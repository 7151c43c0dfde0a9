// Colours of the heat map. The scale runs from dark blue to yellow with steadily growing lightness, so
// it also works without colour vision. "Bad" is the bright end for latency, the dark end for bandwidth.

// Points of the scale: red, green, blue.
const STOPS: [number, number, number][] = [
  [0, 32, 76],
  [0, 54, 107],
  [42, 72, 108],
  [77, 92, 109],
  [105, 111, 113],
  [133, 131, 117],
  [165, 153, 112],
  [198, 176, 100],
  [231, 201, 78],
  [255, 233, 69],
];
export const STEPS = 254; // Of the scale; then: failed, no result
export const FAILED = 254;
export const EMPTY = 255;

// RGBA as numbers, little endian.
export function makePalette(dark: boolean): Uint32Array {
  const palette = new Uint32Array(256);
  const color = (r: number, g: number, b: number) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  for (let step = 0; step < STEPS; ++step) {
    const at = (step / (STEPS - 1)) * (STOPS.length - 1);
    const index = Math.min(Math.floor(at), STOPS.length - 2);
    const [a, b] = [STOPS[index]!, STOPS[index + 1]!];
    const mix = (channel: 0 | 1 | 2) =>
      Math.round(a[channel] + (b[channel] - a[channel]) * (at - index));
    palette[step] = color(mix(0), mix(1), mix(2));
  }
  palette[FAILED] = color(214, 39, 90);
  palette[EMPTY] = dark ? color(38, 44, 54) : color(236, 239, 243);
  return palette;
}

export const css = (rgba: number): string =>
  `rgb(${rgba & 255} ${(rgba >> 8) & 255} ${(rgba >> 16) & 255})`;

export function stepOf(value: number, low: number, high: number): number {
  if (Number.isNaN(value)) return EMPTY;
  if (value < 0) return FAILED;
  const at = Math.round(((value - low) / (high - low)) * (STEPS - 1));
  return at < 0 ? 0 : at >= STEPS ? STEPS - 1 : at;
}

// One pixel for each cell.
export function paint(
  values: Float32Array,
  low: number,
  high: number,
  palette: Uint32Array,
  out: Uint32Array,
): void {
  for (let i = 0; i < values.length; ++i) out[i] = palette[stepOf(values[i]!, low, high)]!;
}
