// Table with columns that can be sorted, shown in pages. On narrow screens it scrolls sideways, and
// columns with `minor` are left out.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { setQuery, useRoute } from "../router";
import { byName } from "../format";

export interface Column<T> {
  title: string;
  cell(row: T): ComponentChildren;
  sort?: (row: T) => string | number | undefined; // Missing values are last.
  numeric?: boolean;
  minor?: boolean;
  unbroken?: boolean; // Names: not split into lines
}

export interface TableProps<T> {
  rows: T[];
  columns: Column<T>[];
  keyOf(row: T): string;
  caption: string;
  pageSize?: number;
  empty: ComponentChildren;
  name?: string; // Prefix of the parameters in the address, if a page has several tables
}

function compare(a: string | number | undefined, b: string | number | undefined): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1;
  return typeof a === "number" && typeof b === "number" ? a - b : byName(String(a), String(b));
}

export function sortRows<T>(rows: T[], column: Column<T> | undefined, descending: boolean): T[] {
  const sort = column?.sort;
  if (!sort) return rows;
  const sign = descending ? -1 : 1;
  return rows
    .map((row) => ({ row, key: sort(row) }))
    .sort((a, b) =>
      a.key === undefined || b.key === undefined
        ? compare(a.key, b.key)
        : sign * compare(a.key, b.key),
    )
    .map(({ row }) => row);
}

export function Table<T>({
  rows,
  columns,
  keyOf,
  caption,
  pageSize = 50,
  empty,
  name = "",
}: TableProps<T>) {
  const route = useRoute();
  const [page, setPage] = useState(0);
  const sortName = `${name}sort`;
  const wanted = route.query[sortName] ?? "";
  const descending = wanted.startsWith("-");
  const sorted = columns.find((column) => column.title === wanted.replace(/^-/, ""));
  const all = sortRows(rows, sorted, descending);
  const pages = Math.max(1, Math.ceil(all.length / pageSize));
  const at = Math.min(page, pages - 1);
  const shown = all.slice(at * pageSize, (at + 1) * pageSize);
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  const sortBy = (column: Column<T>) => {
    const next = sorted !== column ? column.title : descending ? undefined : `-${column.title}`;
    setQuery(route, { [sortName]: next });
    setPage(0);
  };
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
        <table>
          <caption class="sr">{caption}</caption>
          <thead>
            <tr>
              {columns.map((column) => (
                <th
                  key={column.title}
                  scope="col"
                  class={classOf(column)}
                  aria-sort={
                    sorted !== column ? undefined : descending ? "descending" : "ascending"
                  }
                >
                  {column.sort ? (
                    <button type="button" class="sort" onClick={() => sortBy(column)}>
                      {column.title}
                      <span aria-hidden="true">
                        {sorted !== column ? "" : descending ? " ↓" : " ↑"}
                      </span>
                    </button>
                  ) : (
                    column.title
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={keyOf(row)}>
                {columns.map((column) => (
                  <td key={column.title} class={classOf(column)}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {pages > 1 && (
        <nav class="pager" aria-label={`Pages of ${caption}`}>
          <button type="button" disabled={at === 0} onClick={() => setPage(at - 1)}>
            Previous
          </button>
          <span>
            {at * pageSize + 1}–{Math.min((at + 1) * pageSize, all.length)} of {all.length}
          </span>
          <button type="button" disabled={at >= pages - 1} onClick={() => setPage(at + 1)}>
            Next
          </button>
        </nav>
      )}
    </>
  );
}

function classOf<T>(column: Column<T>): string | undefined {
  const classes = [
    column.numeric ? "number" : "",
    column.minor ? "minor" : "",
    column.unbroken ? "unbroken" : "",
  ]
    .filter(Boolean)
    .join(" ");
  return classes === "" ? undefined : classes;
}
