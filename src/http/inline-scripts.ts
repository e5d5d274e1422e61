import { createHash } from 'node:crypto';

/** The scripts that stand in a page itself, as a Content-Security-Policy names them: no other may be put in. */
export function inlineScripts(page: string): string[] {
  return [...page.matchAll(/<script[^>]*>([^]*?)<\/script>/g)]
    .map(([, code = '']) => code)
    .filter((code) => code.trim() !== '')
    .map((code) => `'sha256-${createHash('sha256').update(code).digest('base64')}'`);
}
