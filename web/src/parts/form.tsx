// Form that sends one call, shows what is wrong, and cannot be sent twice at once.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

export function Form({
  submit,
  label,
  children,
  danger,
}: {
  submit(data: FormData): Promise<void>;
  label: string;
  children?: ComponentChildren;
  danger?: boolean;
}) {
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const onSubmit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError("");
    try {
      await submit(new FormData(event.target as HTMLFormElement));
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
    }
    setBusy(false);
  };
  return (
    <form class="form" onSubmit={(event) => void onSubmit(event)}>
      {children}
      <div class="actions">
        <button type="submit" class={danger ? "danger" : "primary"} disabled={busy}>
          {label}
        </button>
        {error !== "" && (
          <span class="error" role="alert">
            {error}
          </span>
        )}
      </div>
    </form>
  );
}

export function Field({
  label,
  hint,
  children,
}: {
  label: string;
  hint?: string;
  children: ComponentChildren;
}) {
  return (
    <label class="field">
      <span>
        {label}
        {hint && <small>{hint}</small>}
      </span>
      {children}
    </label>
  );
}

export const text = (data: FormData, name: string): string => String(data.get(name) ?? "").trim();
