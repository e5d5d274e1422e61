import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { z } from 'zod';
import { conversationBody } from '../../src/contract/conversations.ts';
import { type MemberError, ServiceError } from '../../src/errors.ts';
import { parseJson } from '../../src/http/json-body.ts';
import { providersRoutes } from '../../src/http/routes/providers.ts';
import { settingsRoutes } from '../../src/http/routes/settings.ts';
import { validatorCompiler } from '../../src/http/validation.ts';
import { Vault } from '../../src/secrets/vault.ts';
import { SettingsService } from '../../src/settings/service.ts';
import { type TestServer, startHttp } from '../support/http.ts';
import { type Case, CONVERSATION_CASES, NO_BODIES, PROVIDER_CASES, SETTINGS_CASES } from './corpus.ts';

const shown = (errors: readonly MemberError[] = []) =>
  errors.map(({ loc, type }) => `${loc.join('.')} ${type}`);

/** Values in the corpus that no answer may repeat: they could be secrets. */
const NOT_ECHOED = ['long-enough', 'ann:pw', 'sk-key', 'x'.repeat(200)];

describe('bodies over HTTP', () => {
  let http: TestServer;
  before(async () => {
    http = await startHttp(({ read, transact }) => {
      const service = new SettingsService({
        read: read.settings,
        transact,
        vault: new Vault(randomBytes(32)),
        fetch: () => Promise.reject(new TypeError('no provider is there')),
      });
      return [settingsRoutes(service), providersRoutes(service)];
    });
  });
  after(() => http.close());

  const operations: [string, string, readonly Case[]][] = [
    ['POST', '/api/settings', [...NO_BODIES, ...SETTINGS_CASES]],
    ['PATCH', '/api/settings', [...NO_BODIES, ...SETTINGS_CASES]],
    ['POST', '/api/add-git-providers', [...NO_BODIES, ...PROVIDER_CASES]],
  ];
  for (const [method, path, cases] of operations) {
    describe(`${method} ${path}`, () => {
      for (const { is, body, rejected } of cases) {
        test(`${rejected ? 'refuses' : 'takes'} ${is}`, async () => {
          const { key, userId } = await http.addUser(`${method} ${path} ${is}`);
          const headers = { 'content-type': 'application/json' };
          const { status, json, text } = await http.request(method, path, { key, body, headers });
          const { errors } = json as { errors?: MemberError[] };
          assert.deepEqual([status, shown(errors)], [rejected ? 422 : 200, rejected ?? []]);
          for (const value of NOT_ECHOED) assert.equal(text.includes(value), false);
          if (rejected) assert.equal(await http.storage.read.settings.load(userId), undefined);
        });
      }
    });
  }
});

/** For operations whose routes need the whole service: what their schema says. */
function verdict(schema: z.ZodType, body: unknown): readonly string[] {
  const validate = validatorCompiler({
    schema,
    method: 'POST',
    url: '/',
    httpPart: 'body',
  }) as (data: unknown) => { error?: unknown };
  try {
    const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    const { error } = validate(bytes.length === 0 ? undefined : parseJson(bytes));
    if (error !== undefined) throw error;
    return [];
  } catch (error) {
    assert.ok(error instanceof ServiceError);
    return shown(error.errors);
  }
}

describe('bodies of POST /api/conversations', () => {
  for (const { is, body, rejected = [] } of [...NO_BODIES, ...CONVERSATION_CASES]) {
    test(`${rejected.length > 0 ? 'refuses' : 'takes'} ${is}`, () => {
      assert.deepEqual(verdict(conversationBody, body), rejected);
    });
  }
});
