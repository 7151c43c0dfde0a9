// Addresses of pages: "#/nodes/gpu-1?sort=name". Pure, except useRoute().
import { useEffect, useState } from "preact/hooks";

export interface Route {
  path: string[]; // ["nodes", "gpu-1"]
  query: Record<string, string>;
}

export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#?\/?/, "");
  const [path = "", query = ""] = text.split("?", 2);
  const decode = (part: string) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  };
  return {
    path: path
      .split("/")
      .filter((part) => part !== "")
      .map(decode),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

export function hashOf(path: string[], query: Record<string, string | undefined> = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "") parameters.set(name, value);
  const text = parameters.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`;
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const onChange = () => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  return route;
}

// Changes parameters of the page without a new entry in the history.
export function setQuery(route: Route, changes: Record<string, string | undefined>): void {
  const query = { ...route.query, ...changes };
  history.replaceState(null, "", hashOf(route.path, query));
  dispatchEvent(new HashChangeEvent("hashchange"));
}
