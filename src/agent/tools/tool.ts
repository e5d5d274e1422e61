import { z } from 'zod';

import type { NewAction, SecurityRisk } from '../../events/event.ts';

/** What a call of the model means: the action that is recorded for it, or what the model got wrong. */
export type Understood = { ok: true; action: NewAction } | { ok: false; problem: string };

/** Something the model may call. Calling it gives an action; `carryOut` does what the action says. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** Our own are described by zod, those of MCP servers by the schema that they come with. */
  readonly input: z.ZodType | { readonly jsonSchema: Readonly<Record<string, unknown>> };
  /** `thought`: what the model said before it called. */
  understand(input: unknown, thought: string): Understood;
}

interface Definition<Schema extends z.ZodType> {
  name: string;
  description: string;
  input: Schema;
  /** A string says what is wrong with an input that the schema alone cannot refuse. */
  action(this: void, input: z.output<Schema>, thought: string): NewAction | string;
}

export function defineTool<Schema extends z.ZodType>(definition: Definition<Schema>): Tool {
  const { name, description, input, action } = definition;
  return {
    name,
    description,
    input,
    understand(given, thought) {
      const parsed = input.safeParse(given);
      if (!parsed.success) return { ok: false, problem: problemOf(parsed.error) };
      const understood = action(parsed.data, thought);
      return typeof understood === 'string'
        ? { ok: false, problem: understood }
        : { ok: true, action: understood };
    },
  };
}

/** What the model needs to know to call right. */
function problemOf({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': ')).join('; ');
}

/** Models rate their own calls when they are asked to; others leave it out. */
export const securityRisk = z
  .enum(['LOW', 'MEDIUM', 'HIGH'])
  .optional()
  .describe('How much harm the call could do outside the workspace: LOW, MEDIUM or HIGH.');

export function riskOf(rated: z.output<typeof securityRisk>): SecurityRisk {
  if (rated === undefined) return -1;
  return ({ LOW: 0, MEDIUM: 1, HIGH: 2 } as const)[rated];
}
