// Line chart over time. uPlot draws on a canvas; the newest values are also text.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { axisTime } from "../format";
import { useDark } from "./scheme";

export interface Line {
  label: string;
  values: (number | null)[]; // null: not known, a gap in the line
}

const COLORS = ["--line1", "--line2", "--line3", "--line4"];
const DASHES: (number[] | undefined)[] = [undefined, [6, 3], [2, 3], [8, 3, 2, 3]];

// Ends with the newest value.
export function xRange(times: ArrayLike<number>, seconds: number): [number, number] {
  const last = times[times.length - 1] ?? 0;
  return [Math.min(times[0] ?? last, last - seconds), last];
}

// `seconds`: how much time the axis has at least.
export function Chart({
  title,
  times,
  lines,
  format,
  seconds,
}: {
  title: string;
  times: number[];
  lines: Line[];
  format(value: number): string;
  seconds: number;
}) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const dark = useDark();
  const shape = lines.map((line) => line.label).join("\n");
  useEffect(() => {
    const element = host.current!;
    const style = getComputedStyle(element);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const axis = {
      stroke: color("--muted"),
      grid: { stroke: color("--grid"), width: 1 },
      ticks: { stroke: color("--grid"), width: 1 },
      font: "11px system-ui",
    };
    const options: uPlot.Options = {
      width: Math.max(200, element.clientWidth),
      height: 150,
      legend: { show: false },
      cursor: { y: false },
      axes: [
        { ...axis, values: (_, times, __, ___, step) => times.map((at) => axisTime(at, step)) },
        { ...axis, size: 76, values: (_, values) => values.map((value) => format(value)) },
      ],
      scales: {
        x: { range: (chart) => xRange(chart.data[0], seconds) },
        y: { range: (_, min, max) => [Math.min(0, min), max > 0 ? max * 1.05 : 1] },
      },
      series: [
        {},
        ...lines.map((line, index) => ({
          label: line.label,
          stroke: color(COLORS[index % COLORS.length]!),
          width: 1.5,
          ...(DASHES[index % DASHES.length] ? { dash: DASHES[index % DASHES.length]! } : {}),
          points: { show: (chart: uPlot) => chart.data[0].length < 3 },
        })),
      ],
    };
    plot.current = new uPlot(
      options,
      [times, ...lines.map((line) => line.values)] as uPlot.AlignedData,
      element,
    );
    const observer = new ResizeObserver(() =>
      plot.current?.setSize({ width: Math.max(200, element.clientWidth), height: 150 }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [shape, dark]);
  useEffect(() => {
    plot.current?.setData([times, ...lines.map((line) => line.values)] as uPlot.AlignedData);
  }, [times, lines]);
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong>
        {lines.map((line, index) => {
          const last = [...line.values].reverse().find((value) => value !== null);
          return (
            <span key={line.label} class={`key key${(index % COLORS.length) + 1}`}>
              {line.label} {last == null ? "–" : format(last)}
            </span>
          );
        })}
      </figcaption>
      <div ref={host} aria-hidden="true" />
    </figure>
  );
}
