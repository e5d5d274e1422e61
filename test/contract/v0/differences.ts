/** Where our answers are meant to be others than the document of V0 says, and the decision that asks for it. */
export interface Difference {
  /** `METHOD path status` of the answers. */
  answers: readonly string[];
  what: string;
  /** The sentence of the decisions. */
  because: string;
}

const CONVERSATION = '/api/conversations/{conversation_id}';

export const DIFFERENCES: readonly Difference[] = [
  {
    answers: [`DELETE ${CONVERSATION} 404`, `GET ${CONVERSATION} 404`, `PATCH ${CONVERSATION} 404`],
    what: 'no such status',
    because: "Unknown conversation: 404, not V0's `200 null`.",
  },
  {
    answers: [
      'DELETE /api/secrets/{secret_id} 404',
      `GET ${CONVERSATION}/config 404`,
      `GET ${CONVERSATION}/events 404`,
      `GET ${CONVERSATION}/git/diff 404`,
      `GET ${CONVERSATION}/microagents 404`,
      `GET ${CONVERSATION}/remember-prompt 404`,
      `GET ${CONVERSATION}/select-file 404`,
      `GET ${CONVERSATION}/trajectory 404`,
      `GET ${CONVERSATION}/zip-directory 404`,
      `POST ${CONVERSATION}/events 404`,
      `POST ${CONVERSATION}/start 404`,
      `POST ${CONVERSATION}/stop 404`,
      `POST ${CONVERSATION}/submit-feedback 404`,
      `POST ${CONVERSATION}/upload-files 404`,
    ],
    what: 'no such status',
    because: 'unknown and foreign ids give the same 404',
  },
  // V0 answers 401 with a bare string, which its document does not have.
  {
    answers: [
      'GET /api/user/info 401',
      'GET /api/user/installations 401',
      'GET /api/user/repositories 401',
      'GET /api/user/repository/branches 401',
      'GET /api/user/repository/{repository_name}/microagents 401',
      'GET /api/user/repository/{repository_name}/microagents/content 401',
      'GET /api/user/search/repositories 401',
      'GET /api/user/suggested-tasks 401',
    ],
    what: 'no such status',
    because:
      'one shape: RFC 9457 `application/problem+json` with `type, title, status, detail` (one sentence a person can act on)',
  },
  {
    answers: ['POST /api/add-git-providers 422', 'POST /api/conversations 422', 'POST /api/settings 422'],
    what: 'body.detail is not as documented',
    because:
      'one shape: RFC 9457 `application/problem+json` with `type, title, status, detail` (one sentence a person can act on)',
  },
  {
    answers: ['GET /api/settings 200'],
    what: 'body.secrets_store.provider_tokens.github is not as documented',
    because: 'GET shows the entries with `null` values.',
  },
  // What V0 answers is not what its document says here: the statuses and members are those it sends.
  {
    answers: ['POST /api/secrets 201', 'POST /api/secrets 400'],
    what: 'no such status',
    because:
      'Reading it all back, in the shapes of `../reference/v0-wire.md` sections 1, 3, 4, 5 where V0 has the route',
  },
  {
    answers: [`POST ${CONVERSATION}/upload-files 200`],
    what: 'body.file_urls is not as documented',
    because:
      'Reading it all back, in the shapes of `../reference/v0-wire.md` sections 1, 3, 4, 5 where V0 has the route',
  },
];

/** Routes of the document that are not there yet. One that comes leaves this list. */
export const MISSING: readonly string[] = [];
