import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { ownPort } from '../../own-port.ts';

/** A request as a fake provider sees it. */
export interface Asked {
  method: string;
  /** Decoded by nobody: as it came, without the query. */
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  /** The parsed JSON body; undefined without one. */
  body: unknown;
}

export interface Given {
  status?: number;
  headers?: Record<string, string>;
  /** Sent as JSON; a string as it stands. */
  body?: unknown;
}

/** An HTTP server on loopback that answers as a provider does, and notes what it was asked. */
export interface ProviderServer {
  /** Scheme, host and port: what a user stores as host. */
  url: string;
  asked: Asked[];
  /** What it answers from now on to all that it is asked; null for what it answers by itself. */
  answerAll(given: Given | null): void;
  /** Whether requests get no answer at all. */
  hang(hangs: boolean): void;
  close(): Promise<void>;
}

export async function startProviderServer(answer: (asked: Asked) => Given): Promise<ProviderServer> {
  const asked: Asked[] = [];
  let always: Given | null = null;
  let hanging = false;
  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { searchParams } = new URL(incoming.url ?? '/', 'http://provider');
    const one: Asked = {
      method: incoming.method ?? '',
      path: (incoming.url ?? '/').split('?', 1)[0] ?? '/',
      query: searchParams,
      headers: incoming.headers,
      body: await readBody(incoming),
    };
    asked.push(one);
    if (hanging) return;
    const { status = 200, headers, body } = always ?? answer(one);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body ?? {}));
  }
  const server = createServer((incoming, response) => void serve(incoming, response));
  // Of its own: when it has gone, nobody else is found there.
  const port = await ownPort();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    answerAll: (given) => {
      always = given;
    },
    hang: (hangs) => {
      hanging = hangs;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readBody(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? undefined : JSON.parse(text);
}
