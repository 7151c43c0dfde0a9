// Entry of a token, for sites that use tokens. Client certificates are the browser's business.
import { useState } from "preact/hooks";
import { token } from "../api";
import { useSession } from "../session";
import { word } from "../format";

export function SignIn() {
  const session = useSession();
  const [text, setText] = useState("");
  const { identity, identityError } = session;
  const submit = (event: Event) => {
    event.preventDefault();
    token.write(text.trim());
    setText("");
    session.signIn();
  };
  return (
    <section class="panel narrow">
      <header>
        <h1>Identity</h1>
      </header>
      {identity ? (
        <p>
          You are <strong>{identity.name}</strong> with{" "}
          {identity.roles.length === 0
            ? "no role"
            : identity.roles.map((role) => word(role, "ROLE")).join(", ")}

          {identity.credential === "CREDENTIAL_NONE"
            ? ". This controller asks for no credential here."
            : `, by ${word(identity.credential, "CREDENTIAL")}.`}
        </p>
      ) : (
        <p class="error" role="alert">
          {identityError?.message ?? "Not signed in."}
        </p>
      )}
      <form class="form" onSubmit={submit}>
        <label class="field">
          <span>Token</span>
          <input
            type="password"
            autocomplete="off"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <div class="actions">
          <button type="submit" class="primary">
            Use token
          </button>
          {token.read() !== "" && (
            <button
              type="button"
              onClick={() => {
                token.write("");
                session.signIn();
              }}
            >
              Forget token
            </button>
          )}
        </div>
      </form>
      <p class="muted">
        The browser keeps the token until this tab is closed and sends it in the Authorization
        header. A client certificate needs no token.
      </p>
    </section>
  );
}
