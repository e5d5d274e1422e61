import assert from 'node:assert/strict';
import { ERRORS } from '../../src/errors.ts';
import { PROBLEM_TYPE } from '../../src/http/problem.ts';
import type { Operation } from './document.ts';
import type { Outcome } from './transport.ts';

/** Said where no route was found: a path that has been made unreadable is none. */
const NO_ROUTE: ReadonlySet<unknown> = new Set(['not_found', 'method_not_allowed']);

/** An answer is one that the document gives for the route, in a form that it gives; an error is one of the table. */
export function judge(operation: Operation, outcome: Outcome): void {
  const { status, type, text } = outcome;
  const said = `${operation.name} answers ${status} ${type} ${text.slice(0, 500)}`;
  const forms = operation.answers.get(status);
  if (status >= 400 && type === PROBLEM_TYPE) {
    const code = judgeProblem(status, text, said);
    if (NO_ROUTE.has(code)) return;
  }
  assert.ok(forms, `${said}, which the document does not give`);
  const check = forms.get(type);
  assert.ok(check, `${said}, of a type that the document does not give`);
  if (!type.endsWith('json')) return;
  const wrong = check(JSON.parse(text));
  assert.equal(wrong, null, `${said}, which is not as the document has it`);
}

/** A problem is one of the table, with its status, and no fault of ours; gives its code. */
export function judgeProblem(status: number, text: string, said: string): string {
  const { code, status: named, request_id }: Record<string, unknown> = JSON.parse(text);
  assert.ok(typeof code === 'string' && Object.hasOwn(ERRORS, code), `${said}: no code of ours`);
  const { status: tabled } = ERRORS[code as keyof typeof ERRORS];
  // There is none in these tests, and the routes that need one say so.
  assert.ok(status < 500 || code === 'sandbox_unavailable', said);
  assert.deepEqual([named, tabled, typeof request_id], [status, status, 'string'], said);
  return code;
}
