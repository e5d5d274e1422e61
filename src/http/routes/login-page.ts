import { createHash } from 'node:crypto';
import { inlineScripts } from '../inline-scripts.ts';
import type { Routes } from '../fastify-types.ts';

const STYLE = `
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; display: grid; place-items: center; min-height: 90vh; margin: 0 }
form { display: grid; gap: .75rem; width: min(22rem, 90vw) }
input, button { font: inherit; padding: .5rem .75rem }
`;

const SCRIPT = `
const form = document.querySelector('form');
const said = document.querySelector('output');
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  said.textContent = '';
  try {
    const answer = await fetch('/api/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key: form.elements.key.value.trim() }),
    });
    if (!answer.ok) throw new Error((await answer.json()).detail);
    form.reset();
    location.replace('/');
  } catch (error) {
    said.textContent = error.message;
  }
});
`;

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Log in – Parley</title>
<style>${STYLE}</style>
<form method="post">
  <label for="key">Key</label>
  <input id="key" name="key" type="password" autocomplete="current-password" required autofocus>
  <button>Log in</button>
  <output role="alert"></output>
  <noscript>This page needs JavaScript.</noscript>
</form>
<script>${SCRIPT}</script>
</html>
`;

const styleHash = createHash('sha256').update(STYLE).digest('base64');

/** Its own script and style, and nothing to or from elsewhere. Where the script does not run, the key goes nowhere. */
const POLICY = [
  "default-src 'none'",
  `script-src ${inlineScripts(PAGE).join(' ')}`,
  `style-src 'sha256-${styleHash}'`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** A page that takes a key and gives the browser its cookie. It goes on to `/`. */
export const loginPage: Routes = (server, _options, done) => {
  server.get('/login', { config: { open: true } }, (_request, reply) =>
    reply.type('text/html; charset=utf-8').header('content-security-policy', POLICY).send(PAGE),
  );
  done();
};
