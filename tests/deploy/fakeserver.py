"""A server of JSON over HTTP, for tests of programs that call one."""

import http.server
import json
import threading


class FakeServer:
    """Answers requests from a function of verb, path and body, and keeps them. with_kind: the
    function has the content type as well."""

    def __init__(self, answer, with_kind=False):
        self.requests, self.authorizations = [], []
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def serve(self):
                size = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(size)) if size else None
                request = (self.command, self.path, body, self.headers.get("Content-Type"))
                fake.requests.append(request)
                fake.authorizations.append(self.headers.get("Authorization"))
                status, content = answer(*request[:4 if with_kind else 3])
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(content).encode())

            do_GET = do_POST = do_PATCH = serve

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def of(self, verb):
        return [request for request in self.requests if request[0] == verb]

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
