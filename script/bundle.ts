/** Bundles `src/` and the packages it uses into the folder given: see `script/bundle`. */
import { constants, copyFile, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const source = join(import.meta.dirname, '../src');
const [target] = process.argv.slice(2);
if (target === undefined) throw new Error('say where to');
await mkdir(target, { recursive: true });

const { metafile } = await build({
  entryPoints: [join(source, 'main.ts')],
  outdir: target,
  bundle: true,
  // What is imported when it is first needed stays a file of its own.
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  // It reads its page from its own folder.
  external: ['@scalar/fastify-api-reference'],
  // Packages in CommonJS `require` what is in Node.
  banner: {
    js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);",
  },
  // Names and lines stay, for stack traces. Comments go: one letter beyond Latin makes V8 hold a file twice as large.
  minifyWhitespace: true,
  lineLimit: 160,
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
});

// Such a module would have a default export alone, and none of the names that Node finds in it.
for (const [importer, { imports }] of Object.entries(metafile.inputs)) {
  for (const { kind, path } of imports) {
    if (kind !== 'dynamic-import' || metafile.inputs[path]?.format !== 'cjs') continue;
    throw new Error(
      `${importer} imports ${path} late, which is CommonJS: import a module that names what it has`,
    );
  }
}

// What modules read beside themselves is beside all of them now, and `../..` the same folder as from `src/*/`.
for (const entry of await readdir(source, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !entry.name.endsWith('.sh')) continue;
  await copyFile(join(entry.parentPath, entry.name), join(target, entry.name), constants.COPYFILE_EXCL);
}
