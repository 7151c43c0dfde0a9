// Parser of server-sent events, and the connection that resumes after a loss. EventSource cannot
// send an Authorization header, so this reads the stream with fetch.
import { ApiError, request } from "./api";
import type { FabricEvent } from "./types";

// Feed it text as it comes; it returns the data of the events that are complete.
export class EventParser {
  private rest = "";

  feed(text: string): string[] {
    this.rest += text;
    const blocks = this.rest.split("\n\n");
    this.rest = blocks.pop() ?? "";
    return blocks
      .map((block) =>
        block
          .split("\n")
          .filter((line) => line.startsWith("data: "))
          .map((line) => line.slice(6))
          .join("\n"),
      )
      .filter((data) => data !== "");
  }
}

export type StreamState = "connecting" | "live" | "lost";

export interface StreamListener {
  onEvent(event: FabricEvent): void;
  onState(state: StreamState, reason: string): void;
}

const RETRY_MIN_MS = 1000;
const RETRY_MAX_MS = 30_000;

async function readAll(response: Response, onText: (text: string) => void): Promise<void> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onText(value);
  }
}

// Runs until `signal` aborts. After a loss it continues behind the last event that it saw.
export async function follow(listener: StreamListener, signal: AbortSignal): Promise<void> {
  let cursor = "";
  let retryMs = RETRY_MIN_MS;
  while (!signal.aborted) {
    let reason = "the connection to fabricd ended";
    try {
      // The first connection asks for the events that fabricd still has.
      const from =
        cursor === "" ? "after_sequence=1" : `after_cursor=${encodeURIComponent(cursor)}`;
      const response = await request(`/v1/events?${from}`, { signal });
      listener.onState("live", "");
      retryMs = RETRY_MIN_MS;
      const parser = new EventParser();
      await readAll(response, (text) => {
        for (const data of parser.feed(text)) {
          const event = JSON.parse(data) as FabricEvent;
          cursor = event.cursor || cursor;
          listener.onEvent(event);
        }
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status !== 0) reason = error.message;
      else if (error instanceof ApiError) reason = error.message;
      if (error instanceof ApiError && error.status === 400) cursor = "";
    }
    listener.onState("lost", reason);
    await new Promise((resolve) => setTimeout(resolve, retryMs));
    retryMs = Math.min(2 * retryMs, RETRY_MAX_MS);
  }
}
