import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { HostNotFound } from '../../egress/destination.ts';
import { EgressRefused } from '../../egress/policy.ts';

/** Why a program's request was not passed on: 400 it can't be read, 403 it is forbidden, 502 its host can't be reached. */
export interface Refusal {
  status: 400 | 403 | 404 | 502;
  reason: string;
}

/** A policy's refusal in its own words; of any other error the code alone. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof EgressRefused) return { status: 403, reason: error.message };
  if (error instanceof HostNotFound) return { status: 502, reason: error.message };
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'no answer';
  return { status: 502, reason: `the host could not be reached (${code})` };
}

/** What programs inside are told. Git shows it as `remote: gateway: …`, as it does with any text of a host. */
export function refusalText({ reason }: Refusal): string {
  return `gateway: ${reason}\n`;
}

/** Most that programs show of a status line, and more than any reason takes that is not a long name. */
const PHRASE_LENGTH = 300;

/**
 * The same in the status line, as pip, npm and wget show nothing else of a proxy's refusal: what is not printable
 * ASCII would not be allowed there.
 */
function phraseOf(refusal: Refusal): string {
  return refusalText(refusal)
    .trimEnd()
    .replaceAll(/[^ -~]/g, '?')
    .slice(0, PHRASE_LENGTH);
}

/**
 * Answers a request with a refusal. The connection stays: Node reads the rest of the request away, so that a program
 * in the middle of sending gets to see the answer.
 */
export function refuse(response: ServerResponse, refusal: Refusal): void {
  if (response.headersSent) return void response.destroy();
  const text = refusalText(refusal);
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'content-length': Buffer.byteLength(text) };
  response.writeHead(refusal.status, phraseOf(refusal), headers).end(text);
}

/** The same where Node has handed the bare connection over, which then ends. */
export function refuseAndEnd(client: Duplex, refusal: Refusal): void {
  if (!client.writable || client.destroyed) return void client.destroy();
  const text = refusalText(refusal);
  const head = [
    `HTTP/1.1 ${refusal.status} ${phraseOf(refusal)}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ];
  client.end(`${head.join('\r\n')}\r\n\r\n${text}`);
}
