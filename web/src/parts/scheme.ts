// Whether the page is dark: by the system or by the choice of the user.
import { useEffect, useState } from "preact/hooks";

export const THEME_EVENT = "fabricd-theme";

const isDark = () =>
  getComputedStyle(document.documentElement).getPropertyValue("--scheme").trim() === "dark";

// For canvases, which do not follow style sheets.
export function useDark(): boolean {
  const [dark, setDark] = useState(isDark);
  useEffect(() => {
    const media = matchMedia("(prefers-color-scheme: dark)");
    const onChange = () => setDark(isDark());
    media.addEventListener("change", onChange);
    addEventListener(THEME_EVENT, onChange);
    onChange();
    return () => {
      media.removeEventListener("change", onChange);
      removeEventListener(THEME_EVENT, onChange);
    };
  }, []);
  return dark;
}
