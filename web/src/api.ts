// Calls of the REST API. Pages import `get`, `post`, `remove` and `list`; errors have the text of the API.

const TOKEN_KEY = "fabricd-token";

export class ApiError extends Error {
  // `status`: of HTTP; 0: no answer.
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

// The token lives as long as the browser tab and is never a cookie.
export const token = {
  read: (): string => sessionStorage.getItem(TOKEN_KEY) ?? "",
  write: (text: string): void => {
    if (text === "") sessionStorage.removeItem(TOKEN_KEY);
    else sessionStorage.setItem(TOKEN_KEY, text);
  },
};

export type Query = Record<string, string | number | boolean | undefined>;

export function address(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "") parameters.set(name, String(value));
  const text = parameters.toString();
  return text === "" ? path : `${path}?${text}`;
}

export async function request(path: string, options: RequestInit = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  if (token.read() !== "") headers.set("Authorization", `Bearer ${token.read()}`);
  let response: Response;
  try {
    response = await fetch(path, {
      ...options,
      headers,
      cache: "no-store",
      credentials: "same-origin",
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "no answer from fabricd");
  }
  if (response.ok) return response;
  let message = `HTTP ${response.status}`;
  try {
    message = ((await response.json()) as { message?: string }).message ?? message;
  } catch {
    // The status is all that is known.
  }
  throw new ApiError(response.status, message);
}

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return (await request(address(path, query), { signal: signal ?? null })).json() as Promise<T>;
}

export async function post<T>(path: string, body: unknown = {}): Promise<T> {
  const response = await request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  return response.json() as Promise<T>;
}

export async function remove(path: string): Promise<void> {
  await request(path, { method: "DELETE" });
}

export interface Listed<T> {
  items: T[];
  complete: boolean; // False: there are more than `limit`.
}

// All pages of a list, up to `limit` elements. `field` has the elements in the answer.
export async function list<T>(
  path: string,
  field: string,
  query: Query = {},
  limit = 10_000,
  signal?: AbortSignal,
): Promise<Listed<T>> {
  const items: T[] = [];
  let page_token = "";
  do {
    const page_size = Math.min(1000, limit - items.length);
    const page = await get<Record<string, unknown>>(
      path,
      { ...query, page_size, page_token },
      signal,
    );
    items.push(...(page[field] as T[]));
    page_token = page.next_page_token as string;
  } while (page_token !== "" && items.length < limit);
  return { items, complete: page_token === "" };
}
