import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webLink } from './web-link.ts';

test('only an address of the web becomes a link', () => {
  assert.equal(webLink.parse('https://git.example/a'), 'https://git.example/a');
  assert.equal(webLink.parse('http://git.example:81/a'), 'http://git.example:81/a');
  for (const other of ['javascript:alert(1)', 'data:text/html,x', '/a', 'https://', '', null, undefined]) {
    assert.equal(webLink.parse(other), null, String(other));
  }
});
