// Small PNG files: at most 256 colours, which is enough for pages and terminals. Pure.
import zlib from "node:zlib";

const COLOURS_MAX = 256;

const bucketOf = (r, g, b) => ((r >> 3) << 10) | ((g >> 3) << 5) | (b >> 3);

// The most frequent colours, each the mean of similar ones.
function paletteOf(rgba) {
  const buckets = new Map();
  for (let at = 0; at < rgba.length; at += 4) {
    const [r, g, b] = [rgba[at], rgba[at + 1], rgba[at + 2]];
    const key = bucketOf(r, g, b);
    const sum = buckets.get(key) ?? [0, 0, 0, 0];
    buckets.set(key, [sum[0] + r, sum[1] + g, sum[2] + b, sum[3] + 1]);
  }
  return [...buckets.values()]
    .sort((one, other) => other[3] - one[3])
    .slice(0, COLOURS_MAX)
    .map(([r, g, b, count]) => [r, g, b].map((sum) => Math.round(sum / count)));
}

function nearest(palette, r, g, b) {
  let best = 0;
  let distance = Infinity;
  palette.forEach(([pr, pg, pb], index) => {
    const here = (pr - r) ** 2 + (pg - g) ** 2 + (pb - b) ** 2;
    if (here < distance) [best, distance] = [index, here];
  });
  return best;
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; ++bit) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

export function indexedPng(width, height, rgba) {
  const palette = paletteOf(rgba);
  const known = new Map();
  const rows = Buffer.alloc((width + 1) * height); // Each begins with its filter: none
  for (let y = 0; y < height; ++y)
    for (let x = 0; x < width; ++x) {
      const at = 4 * (y * width + x);
      const colour = (rgba[at] << 16) | (rgba[at + 1] << 8) | rgba[at + 2];
      let index = known.get(colour);
      if (index === undefined) {
        index = nearest(palette, rgba[at], rgba[at + 1], rgba[at + 2]);
        known.set(colour, index);
      }
      rows[y * (width + 1) + 1 + x] = index;
    }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8); // 8 bits, indexes into the palette
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", header),
    chunk("PLTE", Buffer.from(palette.flat())),
    chunk("IDAT", zlib.deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}
