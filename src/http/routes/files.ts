import multipart, { type MultipartFile } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  changes,
  diffQuery,
  fileDiff,
  fileNames,
  fileText,
  listQuery,
  microagents,
  runtimeConfig,
  selectQuery,
  uploaded,
  vscodeUrl,
  webHosts,
} from '../../contract/files.ts';
import { problems } from '../../contract/problem.ts';
import type { ConversationService } from '../../conversations/service.ts';
import { ServiceError } from '../../errors.ts';
import type { FileService } from '../../files/service.ts';
import { byId, INVALID, UNKNOWN } from './conversations.ts';
import type { Routes } from '../fastify-types.ts';
import { untilGone } from './until-gone.ts';

const tags = ['files'];
const NOT_TEXT = problems({ 413: 'The file is too large to be shown.', 415: 'The file is no text.' });
const NO_SANDBOX = problems({ 503: 'No sandbox to run git in is to be had.' });

function bytes(type: string, description: string) {
  return { description, content: { [type]: { schema: z.string().meta({ format: 'binary' }) } } };
}

/** Looks at a conversation's files, brings some in, takes them out. */
export function fileRoutes(files: FileService, conversations: ConversationService): Routes {
  return (server, _options, done) => {
    server.get('/api/conversations/:id/list-files', {
      schema: {
        tags,
        summary: 'What is in a folder of the workspace',
        params: byId,
        querystring: listQuery,
        response: { 200: fileNames, ...UNKNOWN, ...INVALID },
      },
      handler: async ({ principal, params, query }, reply) => {
        const { names, more } = await files.list(principal, params.id, query.path ?? '');
        if (more) reply.header('x-has-more', 'true');
        return names;
      },
    });

    server.get('/api/conversations/:id/select-file', {
      schema: {
        tags,
        summary: 'Read a text file of the workspace',
        params: byId,
        querystring: selectQuery,
        response: { 200: fileText, ...UNKNOWN, ...NOT_TEXT, ...INVALID },
      },
      handler: async ({ principal, params, query }) => ({
        code: await files.read(principal, params.id, query.file),
      }),
    });

    server.get('/api/conversations/:id/zip-directory', {
      // It would make all of it, and drop it.
      exposeHeadRoute: false,
      schema: {
        tags,
        summary: 'The whole workspace as a zip',
        params: byId,
        response: { 200: bytes('application/zip', 'The zip, made as it is read.'), ...UNKNOWN },
      },
      handler: async ({ principal, params }, reply) => {
        const zip = await files.zip(principal, params.id, untilGone(reply));
        return await reply
          .type('application/zip')
          .header('content-disposition', `attachment; filename="workspace-${params.id}.zip"`)
          .send(zip as never);
      },
    });

    server.get('/api/conversations/:id/patch', {
      exposeHeadRoute: false,
      schema: {
        tags,
        summary: 'Everything the conversation changed in its repository',
        description:
          'Against where its branch began: committed or not, files that git does not know yet included. `git apply` takes it.',
        params: byId,
        response: { 200: bytes('text/x-diff', 'The patch.'), ...UNKNOWN, ...NO_SANDBOX },
      },
      handler: async ({ principal, params }, reply) => {
        const patch = await files.patch(principal, params.id, untilGone(reply));
        return await reply
          .type('text/x-diff')
          .header('content-disposition', `attachment; filename="${params.id}.patch"`)
          .send(patch as never);
      },
    });

    server.get('/api/conversations/:id/git/changes', {
      exposeHeadRoute: false,
      schema: {
        tags,
        summary: 'Which files of the repository the conversation changed',
        params: byId,
        response: { 200: changes, ...UNKNOWN, ...NO_SANDBOX },
      },
      handler: ({ principal, params }, reply) => files.changes(principal, params.id, untilGone(reply)),
    });

    server.get('/api/conversations/:id/git/diff', {
      exposeHeadRoute: false,
      schema: {
        tags,
        summary: 'A file of the repository as it was and as it is',
        params: byId,
        querystring: diffQuery,
        response: { 200: fileDiff, ...UNKNOWN, ...NOT_TEXT, ...INVALID, ...NO_SANDBOX },
      },
      handler: ({ principal, params, query }, reply) =>
        files.diff(principal, params.id, query.path, untilGone(reply)),
    });

    server.get('/api/conversations/:id/microagents', {
      schema: {
        tags,
        summary: 'The microagents that the repository brings',
        params: byId,
        response: { 200: microagents, ...UNKNOWN },
      },
      handler: async ({ principal, params }) => ({
        microagents: await files.microagents(principal, params.id),
      }),
    });

    server.get('/api/conversations/:id/config', {
      schema: {
        tags,
        summary: 'The names of its runtime and session (as V0)',
        params: byId,
        response: { 200: runtimeConfig, ...UNKNOWN },
      },
      handler: async ({ principal, params }) => {
        await conversations.keyOf(principal, params.id);
        return { runtime_id: null, session_id: params.id };
      },
    });

    server.get('/api/conversations/:id/vscode-url', {
      schema: {
        tags,
        summary: 'There is no editor in a sandbox (as V0)',
        params: byId,
        response: { 200: vscodeUrl, ...UNKNOWN },
      },
      handler: async ({ principal, params }) => {
        await conversations.keyOf(principal, params.id);
        return { vscode_url: null };
      },
    });

    server.get('/api/conversations/:id/web-hosts', {
      schema: {
        tags,
        summary: 'No port of a sandbox is reachable from outside (as V0)',
        params: byId,
        response: { 200: webHosts, ...UNKNOWN },
      },
      handler: async ({ principal, params }) => {
        await conversations.keyOf(principal, params.id);
        return { hosts: {} };
      },
    });

    acceptUploads(server, files);
    done();
  };
}

/** Parts of one form: a page sends what its user has dropped on it. */
const FORM_LIMITS = { files: 100, fields: 10, fieldSize: 1_000, headerPairs: 50, fileSize: Infinity };

const uploadBody = z.object({
  files: z.array(z.string().meta({ format: 'binary' })).describe('Each is stored under its name.'),
});

function acceptUploads(server: Parameters<Routes>[0], files: FileService): void {
  void server.register(multipart, { limits: FORM_LIMITS });
  server.post('/api/conversations/:id/upload-files', {
    // The form is taken as it comes: there is no body to validate.
    validatorCompiler: () => (value: unknown) => ({ value }),
    schema: {
      tags,
      summary: 'Bring files into the workspace',
      description: 'As many as the quota of the workspace has room for. Each is stored whole, or skipped.',
      consumes: ['multipart/form-data'],
      params: byId,
      body: uploadBody,
      response: { 200: uploaded, ...UNKNOWN, ...INVALID },
    },
    handler: async (request) => {
      if (!request.isMultipart()) {
        throw new ServiceError('unsupported_media_type', 'Send the files as multipart/form-data.');
      }
      const store = await files.upload(request.principal, request.params.id);
      const answer: z.output<typeof uploaded> = {
        message: 'File upload process completed',
        uploaded_files: [],
        skipped_files: [],
      };
      for await (const part of partsOf(request)) {
        const stored = await store({ name: part.filename, content: contentOf(part) });
        if (stored.ok) answer.uploaded_files.push(stored.path);
        else answer.skipped_files.push({ name: part.filename, reason: stored.reason });
        // What was not wanted of it: the next part comes after it.
        part.file.resume();
      }
      if (answer.uploaded_files.length + answer.skipped_files.length === 0) {
        throw unreadable(new Error('there is no file in it'));
      }
      return answer;
    },
  });
}

async function* partsOf(request: FastifyRequest): AsyncGenerator<MultipartFile> {
  const parts = request.files();
  for (;;) {
    const next = await parts.next().catch((error: unknown) => {
      throw unreadable(error);
    });
    if (next.done) return;
    yield next.value;
  }
}

async function* contentOf({ file }: MultipartFile): AsyncGenerator<Uint8Array> {
  try {
    // Not destroyed when its reader has enough: the form behind it would never be read to its end.
    for await (const chunk of file.iterator({ destroyOnReturn: false })) {
      if (Buffer.isBuffer(chunk)) yield chunk;
    }
  } catch (error) {
    throw unreadable(error);
  }
}

function unreadable(cause: unknown): ServiceError {
  const loc = ['body'];
  const why = cause instanceof Error ? cause.message : 'it ended early';
  return new ServiceError('invalid_request', `The form could not be read: ${why}.`, {
    errors: [{ loc, msg: 'is not a form of files', type: 'form_invalid' }],
    cause,
  });
}
