/**
 * Builds `dist/`, which is what the npm package runs: `src/` with the types stripped, as Node strips none under
 * `node_modules`. Lines and columns stay where they are, so that a stack trace fits the source.
 */
import { chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join, relative } from 'node:path';

const source = join(import.meta.dirname, '../src');
const target = join(import.meta.dirname, '../dist');

/** The name of one of our own modules, where one is imported or named by its address. */
const OWN_MODULE = /(\b(?:from|import)\s*\(?\s*|\bnew URL\(\s*)(['"])(\.{1,2}\/[^'"]+)\.ts\2/g;

await rm(target, { recursive: true, force: true });
for (const entry of await readdir(source, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || entry.name.endsWith('.test.ts')) continue;
  const from = join(entry.parentPath, entry.name);
  const to = join(target, relative(source, from));
  await mkdir(dirname(to), { recursive: true });
  if (!entry.name.endsWith('.ts')) {
    await copyFile(from, to);
    continue;
  }
  const code = stripTypeScriptTypes(await readFile(from, 'utf8'));
  await writeFile(to.replace(/\.ts$/, '.js'), code.replace(OWN_MODULE, '$1$2$3.js$2'));
}

const main = join(target, 'main.js');
const SHEBANG = '#!/usr/bin/env node\n';
const code = await readFile(main, 'utf8');
await writeFile(main, code.startsWith('#!') ? code : SHEBANG + code);
await chmod(main, 0o755);
