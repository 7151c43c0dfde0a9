// A collector of OTLP over gRPC that shares nothing with fabricd: grpc-js, and the messages of the
// OpenTelemetry packages. Each request is a line of JSON on standard output. Lines on standard input
// choose the answers to all later requests:
//
//   ok
//   slow MILLISECONDS
//   fail CODE [SECONDS]      with SECONDS: a RetryInfo
//   partial REJECTED
//
// receiver.js PORT [CERT KEY CA]   with CA: clients need a certificate
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import grpc from '@grpc/grpc-js';

const require = createRequire(import.meta.url);
const main = require.resolve('@opentelemetry/otlp-grpc-exporter-base');
const { opentelemetry } = require(main.replace(/index\.js$/, 'generated/root.js'));
const { collector } = opentelemetry.proto;

const [port, cert, key, ca] = process.argv.slice(2);
let mode = ['ok'];
createInterface({ input: process.stdin }).on('line', (line) => {
  mode = line.trim().split(' ');
  console.log(JSON.stringify({ mode }));
});

const varint = (value) => {
  const bytes = [];
  for (; value > 127; value >>>= 7) bytes.push((value & 127) | 128);
  return Buffer.from([...bytes, value]);
};
const field = (number, bytes) => Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);

// google.rpc.Status with a RetryInfo.
const retryInfo = (seconds) => {
  const info = field(1, Buffer.concat([varint(8), varint(seconds)]));
  const any = Buffer.concat([
    field(1, Buffer.from('type.googleapis.com/google.rpc.RetryInfo')), field(2, info)]);
  const metadata = new grpc.Metadata();
  metadata.set('grpc-status-details-bin', field(3, any));
  return metadata;
};

const handler = (signal, rejectedField) => (call, done) => {
  const headers = call.metadata.getMap();
  console.log(JSON.stringify({
    signal, bytes: call.request.bytes, message: call.request.message,
    authorization: headers.authorization }));
  const [word, number, seconds] = mode;
  const answer = { partialSuccess: {} };
  if (word === 'fail') {
    return done({
      code: grpc.status[number], details: `the receiver says ${number}`,
      metadata: seconds ? retryInfo(Number(seconds)) : undefined });
  }
  if (word === 'partial') {
    answer.partialSuccess = { [rejectedField]: Number(number), errorMessage: 'some are too old' };
  }
  if (word === 'slow') return setTimeout(() => done(null, answer), Number(number));
  return done(null, answer);
};

const service = (Request, Response, path) => ({
  Export: {
    path, requestStream: false, responseStream: false,
    requestDeserialize: (bytes) => ({
      bytes: bytes.length,
      message: Request.toObject(Request.decode(bytes), { longs: String, enums: String }) }),
    requestSerialize: (value) => value,
    responseSerialize: (value) => Buffer.from(Response.encode(value).finish()),
    responseDeserialize: (value) => value,
  },
});

const server = new grpc.Server();
for (const [signal, types, name, rejected] of [
  ['metrics', collector.metrics.v1, 'Metrics', 'rejectedDataPoints'],
  ['logs', collector.logs.v1, 'Logs', 'rejectedLogRecords']]) {
  server.addService(
    service(types[`Export${name}ServiceRequest`], types[`Export${name}ServiceResponse`],
      `/opentelemetry.proto.collector.${signal}.v1.${name}Service/Export`),
    { Export: handler(signal, rejected) });
}
const credentials = cert
  ? grpc.ServerCredentials.createSsl(
    ca ? readFileSync(ca) : null,
    [{ cert_chain: readFileSync(cert), private_key: readFileSync(key) }], Boolean(ca))
  : grpc.ServerCredentials.createInsecure();
server.bindAsync(`127.0.0.1:${port}`, credentials, (error, bound) => {
  if (error) throw error;
  console.log(JSON.stringify({ port: bound }));
});
