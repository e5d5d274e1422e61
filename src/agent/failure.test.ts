import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { failure, type ModelFailureKind } from '../model/failure.ts';
import { modelFailed, modelMissing, sandboxFailed, timedOut } from './failure.ts';
import { stuck } from './stuck.ts';

const KINDS: Record<ModelFailureKind, true> = {
  authentication: true,
  rate_limited: true,
  unavailable: true,
  server_error: true,
  context_length: true,
  out_of_credits: true,
  content_policy: true,
  bad_request: true,
  host_not_allowed: true,
  interrupted: true,
};

test('every way a run fails is documented with its state, and says what to do', () => {
  const page = readFileSync(new URL('../../docs/conversation-errors.md', import.meta.url), 'utf8');
  const kinds = Object.keys(KINDS) as ModelFailureKind[];
  const failures = [
    ...kinds.map((kind) => modelFailed(failure(kind, 'It failed.'))),
    modelMissing(),
    sandboxFailed('None.'),
    stuck(),
    timedOut(),
  ];
  for (const { code, state, hint } of failures) {
    assert.ok(page.includes(`| \`${code}\` | \`${state}\` |`), code);
    assert.match(hint, /message|start/i);
  }
});
