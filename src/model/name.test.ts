import assert from 'node:assert/strict';
import { test } from 'node:test';

import { modelDestination, PROVIDERS, routeOf } from './name.ts';

function route(name: string, baseUrl: string | null = null) {
  const found = routeOf(name, baseUrl);
  return found && [found.protocol, found.baseUrl, found.model];
}

test('the prefix that names the provider is taken off, and only that', () => {
  assert.deepEqual(route('anthropic/claude-sonnet-4'), [
    'anthropic',
    'https://api.anthropic.com/v1',
    'claude-sonnet-4',
  ]);
  assert.deepEqual(route('OpenAI/gpt-5'), ['openai', 'https://api.openai.com/v1', 'gpt-5']);
  assert.equal(route('openrouter/anthropic/claude-sonnet-4')?.[2], 'anthropic/claude-sonnet-4');
  assert.equal(route('together_ai/meta-llama/Llama-3')?.[2], 'meta-llama/Llama-3');
  assert.equal(route('gemini/gemini-2.5-pro')?.[0], 'google');
  assert.equal(route('ollama/qwen3:8b')?.[1], 'http://localhost:11434/v1');
});

test('a bare name goes to its maker', () => {
  assert.equal(routeOf('gpt-4o', null)?.provider, 'openai');
  assert.equal(routeOf('o3', null)?.provider, 'openai');
  assert.equal(routeOf('claude-opus-4-1', '')?.provider, 'anthropic');
  assert.equal(routeOf('gemini-2.5-flash', null)?.provider, 'gemini');
});

test('nothing says where an unknown model is, or one of a server that everyone has their own of', () => {
  for (const name of [
    'qwen3',
    'nobody/qwen3',
    'litellm_proxy/gpt-4o',
    'azure/gpt-4o',
    '',
    '/',
    'constructor/x',
  ]) {
    assert.equal(routeOf(name, null), null, name);
  }
});

test('with a base URL, an unknown name is OpenAI-compatible and kept whole', () => {
  const url = 'http://127.0.0.1:8000/v1';
  for (const name of ['qwen3', 'Qwen/Qwen3-Coder', 'gpt-4o', 'claude-opus-4-1']) {
    assert.deepEqual(route(name, url), ['openai-compatible', url, name]);
  }
  assert.deepEqual(route('litellm_proxy/anthropic/claude', url), [
    'openai-compatible',
    url,
    'anthropic/claude',
  ]);
});

test('with a base URL that is not theirs, openai/ speaks Chat Completions; the others their own protocol', () => {
  const url = 'https://proxy.example/v1';
  assert.deepEqual(route('openai/gpt-5', url), ['openai-compatible', url, 'gpt-5']);
  assert.deepEqual(route('openai/gpt-5', 'https://api.openai.com/v1/'), [
    'openai',
    'https://api.openai.com/v1',
    'gpt-5',
  ]);
  assert.deepEqual(route('anthropic/claude', url), ['anthropic', url, 'claude']);
});

test('a base URL is used as given; a bare origin gets the path that its protocol has', () => {
  assert.equal(route('m', 'http://h:1')?.[1], 'http://h:1');
  assert.equal(route('m', 'http://h:1/v1/')?.[1], 'http://h:1/v1');
  assert.equal(route('ollama/m', 'http://h:11434')?.[1], 'http://h:11434/v1');
  assert.equal(route('anthropic/m', 'https://api.anthropic.com')?.[1], 'https://api.anthropic.com/v1');
  assert.equal(route('azure/m', 'https://x.openai.azure.com/')?.[1], 'https://x.openai.azure.com/openai/v1');
  assert.equal(route('gemini/m', 'https://h/v1')?.[1], 'https://h/v1');
});

test('a key is bound to the origin of the base URL, or to the provider', () => {
  assert.equal(modelDestination('openai/gpt-5', null), 'provider:openai');
  assert.equal(modelDestination('gpt-5', ''), 'provider:openai');
  assert.equal(modelDestination('nobody/gpt-5', null), 'provider:nobody');
  assert.equal(modelDestination('openai/gpt-5', 'http://h:80/v1'), 'http://h');
  assert.equal(modelDestination('openai/gpt-5', 'http://h:81/v1'), 'http://h:81');
  assert.equal(modelDestination('google/x', null), modelDestination('gemini/x', null));
});

test('every known provider has an address that parses', () => {
  for (const [name, { baseUrl }] of Object.entries(PROVIDERS)) {
    assert.ok(baseUrl === null || URL.canParse(baseUrl), name);
  }
});
