import type { FastifySchemaCompiler } from 'fastify';
import { z } from 'zod';
import { type MemberError, ServiceError } from '../errors.ts';

type Issue = z.core.$ZodIssue;
type Loc = (string | number)[];

/** Where a part of a request stands in `loc`, by fastify's names for the parts. */
const PARTS: Readonly<Record<string, string>> = {
  body: 'body',
  querystring: 'query',
  params: 'path',
  headers: 'header',
};

/** Validates a part of a request by its zod schema; every offending member is named, no value is repeated. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  const part = PARTS[httpPart ?? ''] ?? 'body';
  let compiled: z.ZodType | undefined;
  return (data: unknown) => {
    // When it is first asked for: most starts never see most routes.
    compiled ??= z.compile(schema);
    const result = compiled.safeParse(data);
    if (result.success) return { value: result.data };
    return { error: invalidRequest(memberErrors(result.error.issues, data, [part])) };
  };
};

/** A rejected request. The detail names the first members; `errors` has them all. */
export function invalidRequest(errors: readonly MemberError[]): ServiceError {
  const named = errors.slice(0, 3).map(({ loc, msg }) => `${loc.join('.')} ${msg}`);
  const more = errors.length > 3 ? `, and ${errors.length - 3} more` : '';
  return new ServiceError('invalid_request', `Not valid: ${named.join('; ')}${more}.`, { errors });
}

/** zod's issues as members of the request, each once. */
export function memberErrors(issues: readonly Issue[], data: unknown, at: Loc): MemberError[] {
  return issues.flatMap((issue) => membersOf(issue, data, at));
}

function membersOf(issue: Issue, data: unknown, at: Loc): MemberError[] {
  const inner = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step));
  const loc = [...at, ...inner];
  const value = valueAt(data, inner);
  const isMissing = value === undefined || (value === null && loc.length === 1);
  // A rule of ours may speak of a member that is not there; zod's own then only mean that it is missing.
  if (isMissing && issue.code !== 'custom') return [{ loc, msg: 'is required', type: 'missing' }];
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        loc: [...loc, key],
        msg: 'is not a known member',
        type: 'extra_forbidden',
      }));
    case 'invalid_union':
      return unionMembers(issue, value, loc);
    case 'invalid_key':
      return [{ loc, msg: issue.issues[0]?.message ?? 'is not a valid name', type: 'invalid_key' }];
    case 'invalid_type':
      return [{ loc, msg: `must be ${article(issue.expected)}, not ${kindOf(value)}`, type: 'wrong_type' }];
    case 'invalid_value':
      return [{ loc, msg: `must be ${oneOf(issue.values)}`, type: 'not_allowed' }];
    case 'too_small':
    case 'too_big':
      return [{ loc, msg: boundOf(issue), type: issue.code }];
    case 'custom':
      return [{ loc, msg: issue.message, type: customType(issue.params) }];
    default:
      return [{ loc, msg: issue.message, type: issue.code }];
  }
}

/**
 * Of a union, the faults of the one form that was meant: the form whose outer shape fits. Where none or several
 * fit, the member as a whole is named with the forms there are.
 */
function unionMembers(issue: z.core.$ZodIssueInvalidUnion, value: unknown, loc: Loc): MemberError[] {
  // A schema that says itself what it wants knows better than a choice among its forms.
  if (issue.message !== 'Invalid input') {
    return [{ loc, msg: issue.message, type: 'not_allowed' }];
  }
  const meant = issue.errors.filter(
    (issues) =>
      !issues.some(
        (one) => one.path.length === 0 && (one.code === 'invalid_type' || one.code === 'invalid_value'),
      ),
  );
  const [only] = meant;
  if (only && meant.length === 1) return memberErrors(only, value, loc);
  const forms = issue.errors.flatMap((issues) =>
    issues.flatMap((one) =>
      one.code === 'invalid_type' && one.path.length === 0
        ? [article(one.expected)]
        : one.code === 'invalid_value' && one.path.length === 0
          ? [oneOf(one.values)]
          : [],
    ),
  );
  const wanted = [...new Set(forms)].join(' or ');
  return [
    {
      loc,
      msg: wanted ? `must be ${wanted}, not ${kindOf(value)}` : 'fits none of its forms',
      type: 'wrong_type',
    },
  ];
}

/** The bound that was passed, unless the schema has words of its own for it. */
function boundOf(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  if (!/^Too (small|big):/.test(issue.message)) return issue.message;
  const bound =
    issue.code === 'too_small'
      ? `${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`
      : `${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}`;
  if (issue.origin === 'string') return `must have ${bound} characters`;
  return issue.origin === 'array' ? `must have ${bound} entries` : `must be ${bound}`;
}

function valueAt(data: unknown, path: Loc): unknown {
  let value = data;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

function customType(params: Record<string, unknown> | undefined): string {
  return typeof params?.['type'] === 'string' ? params['type'] : 'not_valid';
}

const NAMES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
  null: 'null',
};

function article(expected: string): string {
  return NAMES[expected] ?? expected;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  // What JSON writes as 1e400.
  if (typeof value === 'number' && !Number.isFinite(value)) return 'one that is too large';
  return NAMES[typeof value] ?? typeof value;
}

function oneOf(values: readonly unknown[]): string {
  const [only] = values;
  if (values.length === 1) return JSON.stringify(only);
  return `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`;
}
