import { z } from 'zod';

import { observation } from '../../events/build.ts';
import type { ActionEvent } from '../../events/event.ts';
import { boundedAnswer } from '../../mcp/answer.ts';
import type { CallOutcome } from '../../mcp/connection.ts';
import type { OfferedTool } from '../../mcp/conversation-servers.ts';
import { type Bench, type Result, wrong } from './bench.ts';
import { cutMiddle } from './text.ts';
import { riskOf, securityRisk, type Tool } from './tool.ts';

const given = z.looseObject({ security_risk: securityRisk.catch(undefined) });

/** A tool of an MCP server. Whether an input fits its schema is for the server to say. */
export function mcpTool({ offered, server, description, schema }: OfferedTool): Tool {
  const { properties } = schema;
  const rated = { ...(properties as object | undefined), security_risk: RISK };
  return {
    name: offered,
    description: `[MCP server ${server}] ${description}`.trimEnd(),
    input: { jsonSchema: { ...schema, properties: rated } },
    understand(input, thought) {
      const parsed = given.safeParse(input);
      if (!parsed.success) return { ok: false, problem: 'The input is to be an object.' };
      const { security_risk, ...rest } = parsed.data;
      return {
        ok: true,
        action: {
          source: 'agent',
          message: `Calling the tool ${offered} of the MCP server ${server}`,
          action: 'call_tool_mcp',
          args: { name: offered, server, arguments: rest, thought, security_risk: riskOf(security_risk) },
        },
      };
    },
  };
}

const { $schema: _, ...RISK } = z.toJSONSchema(securityRisk);

/** Calls a tool as the action says. Nothing a server does, or does not, is more than an observation. */
export async function callMcpTool(
  action: ActionEvent<'call_tool_mcp'>,
  { mcp, signal }: Pick<Bench, 'mcp' | 'signal'>,
): Promise<Result> {
  const { name, server = null, arguments: input } = action.args;
  if (!mcp) return wrong(`${name} was not called: there are no MCP servers in this run.`);
  const outcome = await mcp.call(name, server, input, signal);
  const of = server === null ? 'The MCP server' : `The MCP server ${server}`;
  if (outcome.kind === 'failed') return wrong(failed(outcome, name, of));
  const answer = boundedAnswer(
    outcome.kind === 'answered' ? outcome.called : refused(outcome.refusal, of),
    cutMiddle,
  );
  const { content, images, isError } = answer;
  return observation(
    'agent',
    'mcp',
    JSON.stringify({ content, isError }),
    { name, arguments: input, ...(images.length > 0 && { image_urls: [...images] }) },
    { success: !isError, message: `${of} answered the call of ${name}.` },
  );
}

function failed(
  { reason, effect }: Extract<CallOutcome, { kind: 'failed' }>,
  name: string,
  of: string,
): string {
  return effect === 'none'
    ? `${name} was not called. ${of}: ${reason}`
    : `${of} gave no answer to the call of ${name}: ${reason} Whether the call had its effect is not known. Look before you repeat it.`;
}

function refused({ code, message }: { code: number; message: string }, of: string) {
  const text = `${of} answered with an error (${code}): ${message}`;
  return { content: [{ type: 'text', text }], isError: true };
}
