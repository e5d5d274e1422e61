import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

/** A status and a body, or something of the test's own. */
export type ServerAnswer =
  | { status?: number; headers?: Record<string, string>; body: unknown }
  | ((response: ServerResponse) => void);

interface RecordedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface RecordingServer extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly port: number;
  readonly requests: readonly RecordedRequest[];
  /** The request of that number (from 0), once it has come. A test that waits in vain is ended by its runner. */
  request(index: number): Promise<RecordedRequest>;
  /** What all requests from now on are answered with. */
  answer(answer: ServerAnswer): void;
  close(): Promise<void>;
}

/** A server on loopback that answers every request as it is told, and remembers them: a web search, say. */
export async function startRecordingServer(
  first: ServerAnswer = { body: { results: [] } },
): Promise<RecordingServer> {
  const requests: RecordedRequest[] = [];
  const came = new EventEmitter();
  let answer = first;
  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = incoming;
    requests.push({ method, path, headers, body: await text(incoming) });
    came.emit('request');
    if (typeof answer === 'function') return answer(response);
    const { status = 200, headers: more = {}, body: said } = answer;
    response
      .writeHead(status, { 'content-type': 'application/json', ...more })
      .end(typeof said === 'string' ? said : JSON.stringify(said));
  }

  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The recording server has no port');
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    requests,
    async request(index) {
      for (;;) {
        const request = requests[index];
        if (request) return request;
        await once(came, 'request');
      }
    },
    answer(next) {
      answer = next;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
