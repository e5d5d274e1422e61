import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assert as check, configureGlobal, constantFrom, oneof, pre, property, string } from 'fast-check';

import { Redactor } from './redactor.ts';
import { HIDDEN, Secret } from './secret.ts';

// The same cases each time; change the seed to look for more.
configureGlobal({ seed: 20_250_814, numRuns: 200 });

const TOKEN = 'ghp_aB3+/dE6"fG9\\hI2 kL5é';

function hide(text: string, ...values: string[]): string {
  return new Redactor(values.map((value) => new Secret(value))).redact(text);
}

test('hides a secret wherever it stands, and leaves the rest', () => {
  assert.equal(hide(`a ${TOKEN}${TOKEN} b ${TOKEN}`, TOKEN), `a ${HIDDEN}${HIDDEN} b ${HIDDEN}`);
  assert.equal(hide('nothing here', TOKEN), 'nothing here');
  assert.equal(hide('', TOKEN), '');
  assert.equal(hide(TOKEN), TOKEN);
});

test('leaves values alone that are too short, but hides short tokens', () => {
  assert.equal(hide('ollama is ollama', 'ollama'), 'ollama is ollama');
  assert.equal(hide('ab', '', '  ', 'a\n\n\n\n\n\nb'), 'ab');
  const redactor = new Redactor([], [new Secret('t0k3'), new Secret('abc')]);
  assert.equal(redactor.redact('is t0k3, abc'), `is ${HIDDEN}, abc`);
});

test('hides secrets that overlap, or contain one another, whole', () => {
  assert.equal(hide('xx12345678abcdefghyy', '12345678abcd', 'abcdefgh'), `xx${HIDDEN}yy`);
  assert.equal(hide('x123456789x12345678x', '12345678', '123456789'), `x${HIDDEN}x${HIDDEN}x`);
  assert.equal(hide('aaaaaaaaaaaa', 'aaaaaaaa'), HIDDEN);
});

test('hides what Basic authentication sends', () => {
  const header = (user: string) => `Basic ${Buffer.from(`${user}:${TOKEN}`).toString('base64')}`;
  for (const user of ['', 'u', 'us', 'oauth2']) {
    assert.match(hide(header(user), TOKEN), /^Basic [A-Za-z0-9+/]{0,12}<secret_hidden>.{0,2}=*$/);
  }
});

test('hides secrets of several lines, whole, by lines, indented, and with other line ends', () => {
  const lines = ['-----BEGIN-----', 'MIIEvQIBADANBg+/', 'kqhkiG9w0BAQEFAA', '-----END-----'];
  const key = `${lines.join('\n')}\n`;
  assert.equal(hide(`key: ${key}.`, key), `key: ${HIDDEN}\n.`);
  assert.equal(hide(lines.join('\r\n'), key), HIDDEN);
  assert.equal(hide(lines.map((line) => `    ${line}`).join('\n'), key), `    ${HIDDEN}`);
  assert.equal(hide(JSON.stringify({ key }), key), `{"key":"${HIDDEN}\\n"}`);
  assert.equal(hide(`line ${lines[2]}`, key), `line ${HIDDEN}`);
  assert.equal(hide(lines.toReversed().join(', '), key), Array(4).fill(HIDDEN).join(', '));
});

test('hides base64 and hex that come in lines', () => {
  const long = 'long secret '.repeat(20);
  for (const encoding of ['base64', 'hex'] as const) {
    const wrapped = Buffer.from(long).toString(encoding).replaceAll(/.{76}/g, '$&\r\n');
    assert.match(hide(wrapped, long), /^<secret_hidden>.{0,2}=*$/);
    assert.match(hide(JSON.stringify(wrapped), long), /^"<secret_hidden>.{0,2}=*"$/);
  }
});

const everyByte = (text: string, write: (hex: string) => string) =>
  [...Buffer.from(text)].map((byte) => write(byte.toString(16).padStart(2, '0'))).join('');
const json = (text: string) => JSON.stringify(text).slice(1, -1);
const unicode = (text: string) =>
  [...Array(text.length).keys()]
    .map((n) => `\\u${text.charCodeAt(n).toString(16).padStart(4, '0')}`)
    .join('');

/** Each way to write a text of which a part is the secret. */
const WRITERS: Record<string, (text: string) => string> = {
  plain: (text) => text,
  'percent, what must be': encodeURIComponent,
  'percent, of forms': (text) => new URLSearchParams([['', text]]).toString().slice(1),
  'percent, all': (text) => everyByte(text, (hex) => `%${hex}`),
  'percent, all in capitals': (text) => everyByte(text, (hex) => `%${hex.toUpperCase()}`),
  // Whoever writes by percent escapes writes the percent sign so.
  'percent, in part': (text) => text.replaceAll(/[%a-p\d"]/g, (c) => everyByte(c, (hex) => `%${hex}`)),
  'percent, twice': (text) => encodeURIComponent(encodeURIComponent(text)),
  json,
  'json, all': unicode,
  'json in json': (text) => json(json(text)),
  'json in a URL': (text) => encodeURIComponent(json(text)),
  'a URL in json': (text) => json(encodeURI(text)),
  'bytes in a string': (text) => everyByte(text, (hex) => `\\x${hex}`),
  hex: (text) => Buffer.from(text).toString('hex'),
  'hex in capitals': (text) => Buffer.from(text).toString('hex').toUpperCase(),
};

const characters = oneof(
  string({ unit: 'grapheme-ascii', minLength: 8, maxLength: 40 }),
  string({ unit: 'grapheme', minLength: 8, maxLength: 40 }),
  // What escapes are made of.
  string({
    unit: constantFrom('%', '\\', '2', '5', 'u', 'n', '0', ' ', '+', '"'),
    minLength: 8,
    maxLength: 20,
  }),
);
const secrets = characters.filter((text) => text.trim().length >= 8 && !/[\r\n]/.test(text));
const around = string({ unit: 'grapheme-ascii', maxLength: 30 });

for (const [name, write] of Object.entries(WRITERS)) {
  test(`leaves nothing of a secret written as: ${name}`, () => {
    check(
      property(secrets, around, around, (secret, before, after) => {
        pre(name !== 'percent, in part' || /^[ -~]*$/.test(secret));
        const value = secret.trim();
        const hidden = hide(write(before) + write(secret) + write(after), secret);
        pre(!HIDDEN.includes(write(value)));
        assert.ok(hidden.includes(HIDDEN));
        assert.ok(!hidden.replaceAll(HIDDEN, '\0').includes(write(value)), hidden);
      }),
    );
  });
}

test('leaves nothing of a secret within base64, at any place in it, in either alphabet, in lines', () => {
  check(
    property(secrets, around, around, constantFrom('', '\n', '\r\n'), (secret, before, after, lineEnd) => {
      for (const encoding of ['base64', 'base64url'] as const) {
        const text = Buffer.from(before + secret + after).toString(encoding);
        const from = Buffer.byteLength(before + secret.slice(0, secret.indexOf(secret.trim())));
        const to = from + Buffer.byteLength(secret.trim());
        const core = text.slice(Math.ceil((from * 8) / 6), Math.floor((to * 8) / 6));
        const hidden = hide(text.replaceAll(/.{76}/g, `$&${lineEnd}`), secret);
        assert.ok(hidden.includes(HIDDEN));
        assert.ok(!hidden.replaceAll(/\r?\n/g, '').includes(core), hidden);
      }
    }),
  );
});

test('a text made of beginnings of secrets takes no more looks than its length allows', () => {
  const secret = `${'ab'.repeat(20)}!`;
  const text = 'ab'.repeat(20_000);
  assert.equal(hide(text, secret), text);
  assert.equal(hide(`${text}!`, secret), `${text.slice(40)}${HIDDEN}`);
});

test('a text that is made to be searched for ever is hidden from where the search gives up', () => {
  const secret = `${'a'.repeat(9_999)}b`;
  const text = `first ${'a'.repeat(30_000)} ${TOKEN}`;
  const hidden = hide(text, secret, TOKEN);
  assert.match(hidden, /^first a+<secret_hidden>$/);
});

test('a text that takes long is redacted in turns with what else there is to do, to the same', async () => {
  const redactor = new Redactor([new Secret(TOKEN), new Secret(`sk-${'a'.repeat(500)}b`)]);
  for (const part of ['\\', '%', '%25', 'sk-', `sk-${'a'.repeat(500)}`, 'nothing at all ', `${TOKEN}\n`]) {
    const text = part.repeat(Math.ceil(2 ** 20 / part.length));
    let turns = 0;
    let done = false;
    const others = (): void => {
      turns += 1;
      if (!done) setImmediate(others);
    };
    setImmediate(others);
    const redacted = await redactor.redactInTurns(text);
    done = true;
    assert.ok(turns > 2, part);
    assert.equal(redacted, redactor.redact(text));
  }
});
