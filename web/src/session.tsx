// What all pages share: who the user is, the state of the connection, recent events, and when to
// load again.
import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get } from "./api";
import { follow, type StreamState } from "./event_stream";
import type { FabricEvent, Identity } from "./types";

const EVENTS_KEPT = 200;
const RELOAD_MIN_MS = 2000; // Between two loads of one page
const RELOAD_MAX_MS = 60_000;

export type Topic = "node" | "finding" | "campaign" | "pair_result" | "port" | "subnet";

export interface Session {
  identity?: Identity | undefined;
  identityError?: ApiError | undefined;
  stream: StreamState;
  streamReason: string;
  // Newest first, without results of pairs and UNKNOWN verdicts, which are part of the coverage
  events: FabricEvent[];
  now: number; // Updated every second
  listen(topics: Topic[], onChange: () => void): () => void;
  signIn(): void; // The token changed.
}

export const SessionContext = createContext<Session | undefined>(undefined);
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("no session");
  return session;
}

export function mayOperate(identity: Identity | undefined): boolean {
  return identity?.roles.some((role) => role === "ROLE_OPERATOR" || role === "ROLE_ADMIN") ?? false;
}

export function mayAdministrate(identity: Identity | undefined): boolean {
  return identity?.roles.includes("ROLE_ADMIN") ?? false;
}

function topicOf(event: FabricEvent): Topic | undefined {
  if (event.node) return "node";
  if (event.finding) return "finding";
  if (event.campaign) return "campaign";
  if (event.subnet) return "subnet";
  if (event.pair_result) return "pair_result";
  return event.port || event.ports ? "port" : undefined;
}

export function useNewSession(): Session {
  const [identity, setIdentity] = useState<Identity>();
  const [identityError, setIdentityError] = useState<ApiError>();
  const [stream, setStream] = useState<{ state: StreamState; reason: string }>({
    state: "connecting",
    reason: "",
  });
  const [events, setEvents] = useState<FabricEvent[]>([]);
  const [now, setNow] = useState(Date.now());
  const [generation, setGeneration] = useState(0);
  const listeners = useRef(new Set<{ topics: Topic[]; onChange: () => void }>());

  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);

  useEffect(() => {
    const end = new AbortController();
    get<Identity>("/v1/identity", {}, end.signal).then(
      (known) => {
        setIdentity(known);
        setIdentityError(undefined);
        let fresh: FabricEvent[] = [];
        const flush = () => {
          if (fresh.length === 0) return;
          const added = fresh.reverse();
          fresh = [];
          setEvents((before) => [...added, ...before].slice(0, EVENTS_KEPT));
        };
        const flushing = setInterval(flush, 500);
        end.signal.addEventListener("abort", () => clearInterval(flushing));
        void follow(
          {
            onState: (state, reason) => setStream({ state, reason }),
            onEvent: (event) => {
              const topic = topicOf(event);
              if (topic !== "pair_result" && event.finding?.verdict !== "VERDICT_UNKNOWN")
                fresh.push(event);
              for (const listener of listeners.current)
                if (event.gap || (topic && listener.topics.includes(topic))) listener.onChange();
            },
          },
          end.signal,
        );
      },
      (error: unknown) => {
        if (end.signal.aborted) return;
        setIdentity(undefined);
        setIdentityError(error instanceof ApiError ? error : new ApiError(0, String(error)));
        if (!(error instanceof ApiError) || error.status === 0) {
          setStream({ state: "lost", reason: "no answer from fabricd" });
          const timer = setTimeout(() => setGeneration((before) => before + 1), 3000);
          end.signal.addEventListener("abort", () => clearTimeout(timer));
        }
      },
    );
    return () => end.abort();
  }, [generation]);

  return {
    identity,
    identityError,
    stream: stream.state,
    streamReason: stream.reason,
    events,
    now,
    listen: (topics, onChange) => {
      const listener = { topics, onChange };
      listeners.current.add(listener);
      return () => listeners.current.delete(listener);
    },
    signIn: () => setGeneration((before) => before + 1),
  };
}

export interface Loaded<T> {
  value?: T | undefined;
  error?: string | undefined;
  reload(): void;
}

// Loads now, when `key` changes, when an event of `topics` comes, and every `intervalMs` (Infinity:
// never). Failures lengthen the interval up to a minute; the last value stays.
export function useLoad<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  topics: Topic[] = [],
  intervalMs = 30_000,
): Loaded<T> {
  const session = useSession();
  const [state, setState] = useState<{
    key: string;
    value?: T | undefined;
    error?: string | undefined;
  }>({ key });
  const trigger = useRef<() => void>(() => undefined);
  useEffect(() => {
    const end = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let running = false;
    let wanted = false;
    let loadedAt = 0;
    let failures = 0;
    const schedule = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => void run(), ms);
    };
    const run = async () => {
      running = true;
      wanted = false;
      try {
        const value = await load(end.signal);
        failures = 0;
        setState({ key, value });
      } catch (error) {
        if (end.signal.aborted) return;
        ++failures;
        const text = error instanceof Error ? error.message : String(error);
        setState((before) => ({
          key,
          value: before.key === key ? before.value : undefined,
          error: text,
        }));
      }
      running = false;
      loadedAt = Date.now();
      if (!end.signal.aborted && (wanted || Number.isFinite(intervalMs)))
        schedule(wanted ? RELOAD_MIN_MS : Math.min(intervalMs * 2 ** failures, RELOAD_MAX_MS));
    };
    trigger.current = () => {
      wanted = true;
      if (!running) schedule(Math.max(0, loadedAt + RELOAD_MIN_MS - Date.now()));
    };
    const unlisten = session.listen(topics, () => trigger.current());
    void run();
    return () => {
      unlisten();
      clearTimeout(timer);
      end.abort();
    };
  }, [key]);
  const current = state.key === key;
  return {
    value: current ? state.value : undefined,
    error: current ? state.error : undefined,
    reload: () => trigger.current(),
  };
}
