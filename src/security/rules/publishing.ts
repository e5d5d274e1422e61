import type { Rating } from '../analyzer.ts';
import { type Call, operands } from './call.ts';
import { high, LOW, medium } from './rating.ts';

/** Commands that hand something to the public or to a running system, by program: the words that come first. */
const PUBLISHES: Readonly<Record<string, RegExp>> = {
  // npm takes any beginning of a command that is no other's.
  npm: /^(pub?l?i?s?h?|unpu?b?l?i?s?h?|deprecate|owne?r?|dist-tag|acce?s?s?|login|adduser|toke?n?|team|hook|star)\b/,
  pnpm: /^(publish|unpublish|login|deploy)\b/,
  yarn: /^(publish|login|npm (publish|login|tag))\b/,
  bun: /^publish\b/,
  twine: /^(upload|register)\b/,
  poetry: /^(publish|config (http-basic|pypi-token))/,
  flit: /^publish\b/,
  hatch: /^publish\b/,
  pdm: /^publish\b/,
  uv: /^publish\b/,
  cargo: /^(publish|yank|login|owner)\b/,
  gem: /^(push|yank|owner|signin)\b/,
  mvn: /\b(deploy|release:perform)\b/,
  gradle: /\b(publish\w*|upload\w*)\b/,
  gradlew: /\b(publish\w*|upload\w*)\b/,
  dotnet: /^nuget (push|delete)\b/,
  nuget: /^(push|delete)\b/,
  docker:
    /^(push|login|run|exec|image push|buildx build.*--push|compose push|stack deploy|service|swarm|cp)\b/,
  podman: /^(push|login|run|exec|image push)\b/,
  helm: /^(push|install|upgrade|uninstall|delete|rollback)\b/,
  kubectl: /^(apply|create|delete|replace|patch|exec|cp|scale|drain|edit|run|set|rollout|config)\b/,
  terraform: /^(apply|destroy|import|state|taint)\b/,
  tofu: /^(apply|destroy|import|state|taint)\b/,
  gh: /^(release|repo (create|delete|edit|archive|rename)|secret|variable|auth|ssh-key|gpg-key|pr (merge|close|create|review|comment)|issue (create|close|delete|comment|edit)|workflow|run (cancel|delete|rerun)|gist|api)\b/,
  glab: /^(release|repo|variable|auth|mr (merge|close|create|approve)|issue (create|close|delete)|api)\b/,
  vercel: /^(?!(dev|build|ls|list|inspect|--version|--help)\b)/,
  netlify: /^deploy\b/,
  fly: /^(deploy|destroy|secrets)\b/,
  flyctl: /^(deploy|destroy|secrets)\b/,
  heroku: /^(?!(--version|help)\b)/,
  wrangler: /^(deploy|publish|secret|delete)\b/,
  firebase: /^(deploy|login)\b/,
  vsce: /^(publish|unpublish|login)\b/,
  ovsx: /^publish\b/,
  lerna: /^publish\b/,
  changeset: /^publish\b/,
  'semantic-release': /^/,
  goreleaser: /^(release)?\b(?!.*--snapshot)/,
  serverless: /^(deploy|remove)\b/,
  pulumi: /^(up|destroy)\b/,
  aws: /\b(rm|mv|cp|sync|put-\S+|delete-\S+|create-\S+|update-\S+|run-\S+|terminate-\S+|invoke|get-secret-value|assume-role\S*|publish|send-\S+|deploy|configure)\b/,
  gcloud: /\b(deploy|delete|create|update|ssh|scp|set-iam-policy|access|print-access-token|submit|login)\b/,
  az: /\b(create|delete|update|deploy|login|get-access-token|set|run)\b/,
  gsutil: /^(cp|mv|rm|rsync|acl|iam)\b/,
  'ansible-playbook': /^/,
  ansible: /^/,
  pod: /^trunk\b/,
  mix: /^hex\.publish\b/,
};

/** Null for a program that does not publish. */
export function ratePublishing({ name, args }: Call): Rating | null {
  const words = PUBLISHES[name];
  if (!words) return null;
  const said = operands(
    args,
    /^(--prefix|--workspace|-w|-C|--cwd|-R|--repo|--profile|--region|-n|--namespace|-f|--file)$/,
  )
    .map(({ text }) => text)
    .join(' ');
  if (words.test(said) && args.some(({ text }) => text === '--dry-run' || text === '--help')) return LOW;
  if (words.test(said)) return high(`${name} ${said.split(' ')[0] ?? ''} reaches what others use.`);
  return said.includes('\u0000') ? medium(`What ${name} does shows only when it runs.`) : null;
}
