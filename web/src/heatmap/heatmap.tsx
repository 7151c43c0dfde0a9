// Heat map on a canvas: zoom with the wheel or + and -, move by dragging or with the arrows.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useDark } from "../parts/scheme";
import { failureOf } from "./results";
import { portName, samePlaces, type Matrix } from "./matrix";
import { makePalette, paint } from "./palette";
import { clampView, fitScale, reveal, zoomAt, type View } from "./view";

interface Cell {
  row: number;
  column: number;
}

function describe(matrix: Matrix, cell: Cell, text: (value: number) => string): string {
  const value = matrix.values[cell.row * matrix.size + cell.column]!;
  const result = Number.isNaN(value)
    ? cell.row === cell.column
      ? "the port itself"
      : "no result"
    : failureOf(value) || text(value);
  const place = (index: number) =>
    `${portName(matrix.ports[index]!)}${matrix.leaves[index] ? ` (${matrix.leaves[index]})` : ""}`;
  const note = matrix.mirrored[cell.row * matrix.size + cell.column]
    ? ", measured in the other direction"
    : "";
  return `${place(cell.row)} to ${place(cell.column)}: ${result}${note}`;
}

function bitmapOf(matrix: Matrix, dark: boolean): OffscreenCanvas | undefined {
  if (matrix.size === 0) return undefined;
  const canvas = new OffscreenCanvas(matrix.size, matrix.size);
  const context = canvas.getContext("2d")!;
  const image = context.createImageData(matrix.size, matrix.size);
  paint(
    matrix.values,
    matrix.low,
    matrix.high,
    makePalette(dark),
    new Uint32Array(image.data.buffer),
  );
  context.putImageData(image, 0, 0);
  return canvas;
}

function draw(
  canvas: HTMLCanvasElement,
  bitmap: OffscreenCanvas,
  matrix: Matrix,
  view: View,
  cell: Cell | undefined,
): void {
  const context = canvas.getContext("2d", { alpha: false })!;
  const ratio = canvas.width / Math.max(canvas.clientWidth, 1);
  const width = canvas.width;
  const pixels = view.scale * ratio;
  context.imageSmoothingEnabled = view.scale < 1;
  context.fillStyle = getComputedStyle(canvas).backgroundColor;
  context.fillRect(0, 0, width, width);
  const cells = Math.min(width / pixels, matrix.size);
  context.drawImage(bitmap, view.x, view.y, cells, cells, 0, 0, cells * pixels, cells * pixels);
  context.fillStyle = "rgb(255 255 255 / 0.55)";
  for (const boundary of matrix.boundaries) {
    const x = Math.round((boundary - view.x) * pixels);
    const y = Math.round((boundary - view.y) * pixels);
    if (x > 0 && x < width) context.fillRect(x, 0, 1, width);
    if (y > 0 && y < width) context.fillRect(0, y, width, 1);
  }
  if (!cell) return;
  context.lineWidth = 2 * ratio;
  const size = Math.max(pixels, 6 * ratio);
  const x = (cell.column - view.x) * pixels;
  const y = (cell.row - view.y) * pixels;
  context.strokeStyle = "#fff";
  context.strokeRect(x, y, size, size);
  context.strokeStyle = "#000";
  context.strokeRect(
    x - context.lineWidth,
    y - context.lineWidth,
    size + 2 * context.lineWidth,
    size + 2 * context.lineWidth,
  );
}

export function HeatMap({
  matrix,
  text,
  label,
  children,
}: {
  matrix: Matrix;
  text(value: number): string;
  label: string;
  children: ComponentChildren;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<View>({ x: 0, y: 0, scale: 0 });
  const placed = useRef<Matrix | undefined>(undefined);
  const drag = useRef<{ x: number; y: number } | undefined>(undefined);
  const frame = useRef(0);
  const [cell, setCell] = useState<Cell>();
  const scheme = useDark();
  const bitmap = useMemo(() => bitmapOf(matrix, scheme), [matrix, scheme]);
  const shown = useRef({ cell, bitmap, matrix });
  shown.current = { cell, bitmap, matrix };
  const width = () => canvas.current?.clientWidth ?? 1;
  const repaint = () => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => {
      const { bitmap: pixels, matrix: current, cell: marked } = shown.current;
      if (canvas.current && pixels) draw(canvas.current, pixels, current, view.current, marked);
    });
  };
  const change = (next: View) => {
    view.current = next;
    repaint();
  };
  const at = (event: { clientX: number; clientY: number }): Cell | undefined => {
    const box = canvas.current!.getBoundingClientRect();
    const column = Math.floor(view.current.x + (event.clientX - box.left) / view.current.scale);
    const row = Math.floor(view.current.y + (event.clientY - box.top) / view.current.scale);
    return row >= 0 && column >= 0 && row < matrix.size && column < matrix.size
      ? { row, column }
      : undefined;
  };
  useEffect(() => {
    const element = canvas.current!;
    const fit = () => {
      const ratio = Math.min(devicePixelRatio || 1, 2);
      element.width = element.height = Math.round(element.clientWidth * ratio);
      const least = fitScale(matrix.size, element.clientWidth);
      change(
        clampView(
          view.current.scale === 0 ? { x: 0, y: 0, scale: least } : view.current,
          matrix.size,
          element.clientWidth,
        ),
      );
    };
    // Results that are read again while the campaign runs keep the place and the zoom.
    if (!placed.current || !samePlaces(placed.current, matrix))
      view.current = { x: 0, y: 0, scale: 0 };
    placed.current = matrix;
    const observer = new ResizeObserver(fit);
    observer.observe(element);
    fit();
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      const box = element.getBoundingClientRect();
      change(
        zoomAt(
          view.current,
          Math.exp(-event.deltaY / 300),
          event.clientX - box.left,
          event.clientY - box.top,
          matrix.size,
          width(),
        ),
      );
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => {
      observer.disconnect();
      element.removeEventListener("wheel", onWheel);
    };
  }, [matrix]);
  useEffect(repaint, [bitmap, cell]);

  const zoom = (factor: number) => {
    const middle = width() / 2;
    const px = cell ? (cell.column + 0.5 - view.current.x) * view.current.scale : middle;
    const py = cell ? (cell.row + 0.5 - view.current.y) * view.current.scale : middle;
    change(zoomAt(view.current, factor, px, py, matrix.size, width()));
  };
  const onKey = (event: KeyboardEvent) => {
    const step = event.shiftKey ? 10 : 1;
    const moves: Record<string, [number, number]> = {
      ArrowUp: [-step, 0],
      ArrowDown: [step, 0],
      ArrowLeft: [0, -step],
      ArrowRight: [0, step],
    };
    const move = moves[event.key];
    if (move) {
      const limit = (value: number) => Math.min(Math.max(value, 0), matrix.size - 1);
      const next = cell
        ? { row: limit(cell.row + move[0]), column: limit(cell.column + move[1]) }
        : { row: 0, column: 0 };
      setCell(next);
      change(reveal(view.current, next.row, next.column, matrix.size, width()));
    } else if (event.key === "+" || event.key === "=") zoom(1.5);
    else if (event.key === "-") zoom(1 / 1.5);
    else if (event.key === "Home")
      change(clampView({ x: 0, y: 0, scale: 0 }, matrix.size, width()));
    else return;
    event.preventDefault();
  };
  return (
    <div class="heatmap">
      <div class="toolbar">
        <button type="button" onClick={() => zoom(1.5)}>
          Zoom in
        </button>
        <button type="button" onClick={() => zoom(1 / 1.5)}>
          Zoom out
        </button>
        <button
          type="button"
          onClick={() => change(clampView({ x: 0, y: 0, scale: 0 }, matrix.size, width()))}
        >
          Whole matrix
        </button>
      </div>
      <div class="sides">
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label={label}
          aria-describedby="heatmap-cell"
          onKeyDown={onKey}
          onPointerDown={(event) => {
            drag.current = { x: event.clientX, y: event.clientY };
            canvas.current!.setPointerCapture(event.pointerId);
            setCell(at(event));
          }}
          onPointerUp={() => {
            drag.current = undefined;
          }}
          onPointerMove={(event) => {
            if (!drag.current) return setCell(at(event));
            const { x, y, scale } = view.current;
            change(
              clampView(
                {
                  scale,
                  x: x - (event.clientX - drag.current.x) / scale,
                  y: y - (event.clientY - drag.current.y) / scale,
                },
                matrix.size,
                width(),
              ),
            );
            drag.current = { x: event.clientX, y: event.clientY };
          }}
        />
        <div>
          <p id="heatmap-cell" class="readout" aria-live="polite">
            {cell
              ? describe(matrix, cell, text)
              : "Point at a cell, or use the arrow keys. Rows: initiator. Columns: responder."}
          </p>
          {children}
          <p class="muted">
            The wheel zooms, dragging moves. Keys: arrows, Shift with arrows, +, − and Home.
          </p>
        </div>
      </div>
    </div>
  );
}
