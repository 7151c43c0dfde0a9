import { expect, it } from "vitest";
import { hashOf, parseRoute } from "./router";

it("reads the address that it writes", () => {
  const hash = hashOf(["nodes", "a/b", "mlx5_0"], { filter: 'x="1"', none: undefined });
  expect(parseRoute(hash)).toEqual({
    path: ["nodes", "a/b", "mlx5_0"],
    query: { filter: 'x="1"' },
  });
  expect(parseRoute("")).toEqual({ path: [], query: {} });
  expect(parseRoute("#/%zz").path).toEqual(["%zz"]);
});
