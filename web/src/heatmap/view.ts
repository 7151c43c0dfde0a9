// The part of the matrix that is visible. Pure. Unit: cells; `scale`: pixels of a cell.

export interface View {
  x: number;
  y: number;
  scale: number;
}

const SCALE_MAX = 40;

export const fitScale = (size: number, width: number): number => width / Math.max(size, 1);

export function clampView(view: View, size: number, width: number): View {
  const scale = Math.min(
    Math.max(view.scale, fitScale(size, width)),
    Math.max(SCALE_MAX, fitScale(size, width)),
  );
  const most = Math.max(0, size - width / scale);
  const clamp = (value: number) => Math.min(Math.max(value, 0), most);
  return { x: clamp(view.x), y: clamp(view.y), scale };
}

// Zooms by `factor`; the cell at the pixel (px, py) stays where it is.
export function zoomAt(
  view: View,
  factor: number,
  px: number,
  py: number,
  size: number,
  width: number,
): View {
  const scale = clampView({ ...view, scale: view.scale * factor }, size, width).scale;
  return clampView(
    { scale, x: view.x + px / view.scale - px / scale, y: view.y + py / view.scale - py / scale },
    size,
    width,
  );
}

// Moves as little as needed so that the cell is visible.
export function reveal(view: View, row: number, column: number, size: number, width: number): View {
  const cells = width / view.scale;
  const move = (start: number, cell: number) =>
    cell < start ? cell : cell + 1 > start + cells ? cell + 1 - cells : start;
  return clampView({ ...view, x: move(view.x, column), y: move(view.y, row) }, size, width);
}
