import { z } from 'zod';
import { listOf } from '../list-of.ts';
import type { Comment, Issue, PullRequest } from '../git-provider.ts';
import { webLink } from '../web-link.ts';

/** What Forgejo's REST API answers as GitHub's does, after which it is made, as far as it is read. */

const text = z.string();
const account = z.object({ login: text }).nullish();
const label = z.union([text, z.object({ name: text.nullish() }).transform(({ name }) => name ?? '')]);

export const issue = z
  .object({
    number: z.int(),
    title: text,
    body: text.nullish(),
    state: text,
    user: account,
    labels: listOf(label).nullish(),
    html_url: webLink,
  })
  .transform((given): Issue => ({
    number: given.number,
    title: given.title,
    body: given.body ?? '',
    isOpen: given.state === 'open',
    author: given.user?.login ?? null,
    labels: (given.labels ?? []).filter((name) => name !== ''),
    url: given.html_url,
  }));

/** What a comment has, also one of a reviewer. */
export const said = z.object({
  id: z.number().transform(String),
  user: account,
  body: text.nullish(),
  created_at: text,
  html_url: webLink,
});
export const comment = said.transform(commentOf);
export const comments = listOf(comment);

export function commentOf(given: z.output<typeof said>): Comment {
  return {
    id: given.id,
    author: given.user?.login ?? null,
    body: given.body ?? '',
    createdAt: given.created_at,
    url: given.html_url,
  };
}

const end = z.object({ ref: text, sha: text.nullish(), repo: z.object({ full_name: text }).nullish() });

/** What a pull request has; each says in its own way that it is merged. */
export const request = z.object({
  number: z.int(),
  title: text,
  body: text.nullish(),
  state: text,
  draft: z.boolean().nullish(),
  user: account,
  head: end,
  base: end,
  html_url: webLink,
});

export function pullRequestOf(given: z.output<typeof request>, isMerged: boolean): PullRequest {
  const { head, base } = given;
  const repository = head.repo?.full_name === base.repo?.full_name ? null : (head.repo?.full_name ?? '');
  return {
    number: given.number,
    title: given.title,
    body: given.body ?? '',
    state: isMerged ? 'merged' : given.state === 'open' ? 'open' : 'closed',
    isDraft: given.draft ?? false,
    author: given.user?.login ?? null,
    head: { branch: head.ref, commit: head.sha || null, repository },
    base: base.ref,
    url: given.html_url,
  };
}
