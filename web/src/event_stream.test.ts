import { expect, it } from "vitest";
import { EventParser } from "./event_stream";

it("returns events that are complete, also when they come in pieces", () => {
  const parser = new EventParser();
  expect(parser.feed("retry: 1000\n\nid: 1\nevent: node\nda")).toEqual([]);
  expect(parser.feed('ta: {"a":1}\n\n: heartbeat\n\ndata: {"b"')).toEqual(['{"a":1}']);
  expect(parser.feed(":2}\n\n")).toEqual(['{"b":2}']);
});
