// Box for a filter. What a person types takes effect after a short pause and is part of the address.
import { useEffect, useState } from "preact/hooks";
import { setQuery, type Route } from "../router";

export function FilterBox({ route, label, hint }: { route: Route; label: string; hint: string }) {
  const current = route.query.filter ?? "";
  const [text, setText] = useState(current);
  useEffect(() => setText(current), [current]);
  useEffect(() => {
    if (text === current) return undefined;
    const timer = setTimeout(() => setQuery(route, { filter: text }), 300);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label class="filter">
      <span class="sr">{label}</span>
      <input
        type="search"
        value={text}
        placeholder={hint}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </label>
  );
}
