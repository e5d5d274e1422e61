import assert from 'node:assert/strict';
import { test } from 'node:test';

import { contextWindow, listModels, priceOf } from './price.ts';

const usage = { promptTokens: 1_000_000, completionTokens: 100_000, cacheReadTokens: 0, cacheWriteTokens: 0 };

test('a model has the price of its provider, under each name that leads there', () => {
  for (const name of ['openai/gpt-4o', 'gpt-4o', 'litellm_proxy/gpt-4o', 'litellm_proxy/openai/gpt-4o']) {
    assert.equal(priceOf(name, usage), 2.5 + 1, name);
  }
  assert.equal(
    priceOf('claude-sonnet-4-20250514', usage),
    priceOf('anthropic/claude-sonnet-4-20250514', usage),
  );
  assert.equal(typeof priceOf('openrouter/anthropic/claude-sonnet-4', usage), 'number');
});

test('tokens from the cache cost less, and never make the price wrong', () => {
  const cached = { ...usage, cacheReadTokens: 1_000_000 };
  assert.ok(priceOf('openai/gpt-4o', cached)! < priceOf('openai/gpt-4o', usage)!);
  const more = { ...usage, promptTokens: 0, cacheReadTokens: 1_000_000 };
  assert.equal(priceOf('openai/gpt-4o', more), priceOf('openai/gpt-4o', cached));
});

test('a price that is not known is null, and so is its window', () => {
  for (const name of ['scripted', 'ollama/llama3', 'openai/scripted', 'elsewhere/gpt-4o-like', '']) {
    assert.equal(priceOf(name, usage), null, name);
    assert.equal(contextWindow(name), null, name);
  }
});

test('a priced model that is given no tokens costs nothing', () => {
  assert.equal(
    priceOf('gpt-4o', { promptTokens: 0, completionTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }),
    0,
  );
});

test('knows how large a model is, also where it is only passed on', () => {
  assert.equal(contextWindow('openai/gpt-4o'), 128_000);
  assert.equal(
    contextWindow('openrouter/anthropic/claude-sonnet-4'),
    contextWindow('anthropic/claude-sonnet-4'),
  );
});

test('lists models sorted, each once, none that does not chat', () => {
  const names = listModels();
  assert.ok(names.includes('openai/gpt-4o') && names.includes('gemini/gemini-2.5-pro'));
  assert.deepEqual(names, [...new Set(names)].sort());
  assert.deepEqual(
    names.filter((name) => /embed|whisper|^google\/|-$/.test(name)),
    [],
  );
  assert.ok(names.every((name) => priceOf(name, usage) !== null));
});
