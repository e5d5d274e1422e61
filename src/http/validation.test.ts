import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import type { MemberError } from '../errors.ts';
import { conversationBody } from '../contract/conversations.ts';
import { providerTokensBody } from '../contract/providers.ts';
import { settingsBody } from '../contract/settings.ts';
import { memberErrors } from './validation.ts';

function faults(schema: z.ZodType, data: unknown): MemberError[] {
  const { error } = schema.safeParse(data);
  assert.ok(error, 'it is accepted');
  return memberErrors(error.issues, data, ['body']);
}

describe('a rejected member', () => {
  test('is named within the one form of a union that was meant', () => {
    assert.deepEqual(faults(settingsBody, { secrets_store: { custom_secrets: { TOKEN: { secret: 7 } } } }), [
      {
        loc: ['body', 'secrets_store', 'custom_secrets', 'TOKEN', 'secret'],
        msg: 'must be a string, not a number',
        type: 'wrong_type',
      },
    ]);
    assert.deepEqual(
      faults(providerTokensBody, { provider_tokens: { github: { token: 'x', host: 'a b' } } })[0]?.loc,
      ['body', 'provider_tokens', 'github', 'host'],
    );
  });

  test('as a whole is told all forms there are', () => {
    const [fault, ...more] = faults(z.object({ a: z.union([z.string(), z.object({ b: z.int() })]) }), {
      a: 7,
    });
    assert.deepEqual([fault?.msg, more], ['must be a string or an object, not a number', []]);
  });

  test('keeps the words that its schema has for it', () => {
    assert.match(faults(settingsBody, { agent: 'BrowsingAgent' })[0]?.msg ?? '', /retired: use CodeActAgent/);
    assert.equal(faults(settingsBody, { remote_runtime_resource_factor: 3 })[0]?.msg, 'must be 1, 2, 4 or 8');
  });

  test('is told the bound it passed', () => {
    const tooLarge: unknown = JSON.parse('{"max_budget_per_task": 1e400}');
    assert.equal(faults(settingsBody, tooLarge)[0]?.msg, 'must be a number, not one that is too large');
    assert.equal(faults(settingsBody, { max_iterations: 0 })[0]?.msg, 'must be at least 1');
    assert.equal(
      faults(z.object({ a: z.array(z.string()).max(1) }), { a: ['x', 'y'] })[0]?.msg,
      'must have at most 1 entries',
    );
    assert.equal(
      faults(z.object({ a: z.string().min(2) }), { a: 'x' })[0]?.msg,
      'must have at least 2 characters',
    );
  });

  test('that is missing is said to be so, at any depth', () => {
    const found = faults(conversationBody, { suggested_task: { title: 'x' } });
    assert.deepEqual(
      found.map(({ loc, type }) => [loc.at(-1), type]),
      [
        ['git_provider', 'missing'],
        ['task_type', 'missing'],
        ['repo', 'missing'],
        ['issue_number', 'missing'],
      ],
    );
  });

  test('of an unknown provider is named by its key', () => {
    const [fault] = faults(providerTokensBody, { provider_tokens: { azure: 'x' } });
    assert.deepEqual(fault?.loc, ['body', 'provider_tokens', 'azure']);
  });

  test('is each unknown one where none may be', () => {
    const found = faults(conversationBody, { bogus: 1, create_microagent: { repo: 'a/b', more: 1 } });
    assert.deepEqual(
      found.map(({ loc }) => loc.join('.')).toSorted((a, b) => a.localeCompare(b)),
      ['body.bogus', 'body.create_microagent.more'],
    );
  });

  test('never repeats what was sent, whatever member it is', () => {
    const secret = 'hunter2-hunter2';
    for (const schema of [settingsBody, conversationBody, providerTokensBody]) {
      for (const name of Object.keys(schema.shape)) {
        for (const value of [secret, [secret], { [name]: secret }, { a: [secret] }]) {
          const { error } = schema.safeParse({ [name]: value });
          const said = memberErrors(error?.issues ?? [], { [name]: value }, ['body']).map(({ msg }) => msg);
          assert.ok(!said.join().includes(secret), `${name}: ${said.join()}`);
        }
      }
    }
  });
});
