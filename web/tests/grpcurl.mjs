// The part of grpcurl that docs/API_EXAMPLES.md uses, for tests where grpcurl is not installed:
//
//   node grpcurl.mjs -plaintext [-H 'NAME: VALUE'] [-d JSON] HOST:PORT list SERVICE
//                                                            | describe MESSAGE | SERVICE/METHOD
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

const root = new URL("../../", import.meta.url).pathname;
const definition = loader.loadSync(["fabric/v1/fabric.proto", `${root}web/tests/health.proto`], {
  includeDirs: [`${root}proto`],
  keepCase: true,
  enums: String,
  longs: String,
});

const words = process.argv.slice(2);
const metadata = new grpc.Metadata();
let data = "{}";
const operands = [];
while (words.length > 0) {
  const word = words.shift();
  if (word === "-plaintext") continue;
  else if (word === "-d") data = words.shift();
  else if (word === "-H") metadata.set(...words.shift().split(": ", 2));
  else operands.push(word);
}
const [address, verb, name] = operands;

function fail(text) {
  console.error(text);
  process.exit(2);
}

if (verb === "list" || verb === "describe") {
  const found = definition[name] ?? fail(`unknown symbol: ${name}`);
  console.log(
    (verb === "list" ? Object.keys(found) : found.type.field.map((one) => one.name)).join("\n"),
  );
} else {
  const [service, method] = verb.split("/");
  const rpc = definition[service]?.[method] ?? fail(`unknown method: ${verb}`);
  const client = new grpc.Client(address, grpc.credentials.createInsecure());
  const request = JSON.parse(data);
  // An unknown field would be dropped silently.
  for (const key of Object.keys(request))
    if (!rpc.requestType.type.field.some((field) => field.name === key))
      fail(`${verb}: unknown field ${key}`);
  const path = [rpc.path, rpc.requestSerialize, rpc.responseDeserialize, request, metadata];
  const print = (answer) => console.log(JSON.stringify(answer));
  const end = (error) => {
    if (error) console.error(error.message);
    client.close();
    process.exitCode = error ? 1 : 0;
  };
  if (rpc.responseStream)
    client
      .makeServerStreamRequest(...path)
      .on("data", print)
      .on("error", end)
      .on("end", () => end());
  else
    client.makeUnaryRequest(...path, (error, answer) => {
      if (answer) print(answer);
      end(error);
    });
}
