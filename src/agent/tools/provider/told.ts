import type { Checks, Comment, Issue, Page, PullRequest, ReviewComment } from '../../../git/git-provider.ts';

export function issueTold(issue: Issue, mark: string): string {
  const { number, title, isOpen, author, labels, url, body } = issue;
  const labelled = labels.length === 0 ? '' : ` Labels: ${labels.join(', ')}.`;
  return `${mark}${number} (${isOpen ? 'open' : 'closed'}): ${title}\nBy ${by(author)}.${labelled} ${url}\n\n${body}`.trim();
}

export function requestTold(request: PullRequest, mark: string): string {
  const { number, title, state, isDraft, author, head, base, url, body } = request;
  const from =
    head.repository === null
      ? head.branch
      : `${head.branch} of ${head.repository || 'a repository that is gone'}`;
  const commit = head.commit === null ? '' : ` (${head.commit})`;
  const lines = [
    `${mark}${number} (${state}${isDraft ? ', draft' : ''}): ${title}`,
    `By ${by(author)}, from ${from}${commit} to ${base}. ${url}`,
  ];
  return `${lines.join('\n')}\n\n${body}`.trim();
}

export function commentsTold({ items, more }: Page<Comment>, page: number): string {
  if (items.length === 0) return page === 1 ? 'There are no comments.' : 'There are no more comments.';
  const next = more ? `\n\nThere are more comments: page ${page + 1}.` : '';
  return `Comments:\n${items.map(commentTold).join('\n\n')}${next}`;
}

export function reviewTold(comments: readonly ReviewComment[]): string {
  if (comments.length === 0) return 'Reviewers said nothing of its lines.';
  const told = comments.map((comment) => {
    const { path, line, isResolved } = comment;
    const state = isResolved === null ? '' : isResolved ? ', resolved' : ', not resolved';
    return `${path}${line === null ? '' : `:${line}`}${state}\n${commentTold(comment)}`;
  });
  return `What reviewers said of its lines:\n${told.join('\n\n')}`;
}

export function checksTold(ref: string, { state, checks }: Checks): string {
  if (checks.length === 0) return `There are no checks for ${ref}.`;
  const lines = checks.map(
    (check) => `${check.state}: ${check.name}${check.url === null ? '' : ` ${check.url}`}`,
  );
  return `Checks of ${ref}, all in all: ${state}\n${lines.join('\n')}`;
}

function commentTold({ author, createdAt, body }: Comment): string {
  return `[${by(author)}, ${createdAt}]\n${body}`;
}

function by(author: string | null): string {
  return author ?? 'an account that is gone';
}
