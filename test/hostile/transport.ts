import { type Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { PATIENCE_MS } from '../support/eventually.ts';
import type { HostileRequest } from './requests.ts';

/** What came back. */
export interface Outcome {
  status: number;
  /** Without its parameters. */
  type: string;
  text: string;
}

/** Far more time than any answer needs: it tells a hang, and nothing about speed. */
export async function inDue<T>(answer: Promise<T>, what: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no answer: ${what}`)), PATIENCE_MS);
  return await Promise.race([answer, late.promise]).finally(() => clearTimeout(timer));
}

/** Straight into the server, without a socket. Not for streams, which have no end. */
export async function inject(server: FastifyInstance, request: HostileRequest): Promise<Outcome> {
  const { operation, path, headers, body } = request;
  const response = await inDue(
    server.inject({
      // The methods of the document are those there are.
      method: operation.method as 'GET',
      url: path,
      headers: Object.fromEntries(headers),
      ...(body !== null && { payload: body }),
    }),
    `${operation.method} ${path}`,
  );
  return {
    status: response.statusCode,
    type: bareType(response.headers['content-type']),
    text: response.body,
  };
}

/** Over a connection. Of a stream only its head is awaited. Null when the server hung up on a body it did not want. */
export function overSocket(url: string, agent: Agent, request: HostileRequest): Promise<Outcome | null> {
  const { operation, path, headers, body } = request;
  const answer = new Promise<Outcome | null>((resolve, reject) => {
    const sent = httpRequest(new URL(url), {
      agent,
      method: operation.method,
      path,
      headers: { ...Object.fromEntries(headers), ...(body !== null && { 'content-length': body.length }) },
    });
    sent.on('error', (error) => (body !== null && body.length > 60_000 ? resolve(null) : reject(error)));
    sent.on('response', (response) => {
      const head = { status: response.statusCode ?? 0, type: bareType(response.headers['content-type']) };
      if (head.type === 'text/event-stream') {
        response.destroy();
        return resolve({ ...head, text: '' });
      }
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () => resolve({ ...head, text }));
      response.on('error', reject);
    });
    sent.end(body ?? undefined);
  });
  return inDue(answer, `${operation.method} ${path}`);
}

/** Sends bytes as they are, and ends unless told not to; gives all that the server said until it hung up. */
export function sendBytes(url: string, bytes: Uint8Array, end = true): Promise<string> {
  const answer = new Promise<string>((resolve) => {
    let said = '';
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port) });
    socket.setEncoding('latin1').on('data', (piece: string) => (said += piece));
    // Hanging up without a word is an answer too, as is a reset.
    socket.on('error', () => {});
    socket.on('close', () => resolve(said));
    if (end) socket.end(bytes);
    else socket.write(bytes);
  });
  return inDue(answer, JSON.stringify(Buffer.from(bytes).toString('latin1')));
}

function bareType(header: unknown): string {
  return typeof header === 'string' ? (header.split(';', 1)[0] ?? '').trim() : '';
}
