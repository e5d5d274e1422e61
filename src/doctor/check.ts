/** What one look found. */
export interface Check {
  name: string;
  /** `warn`: it works, or will, but somebody should know. */
  status: 'ok' | 'warn' | 'fail';
  /** What was seen. */
  detail: string;
  /** What to do; empty when there is nothing. */
  advice: string;
}

export function ok(name: string, detail: string): Check {
  return { name, status: 'ok', detail, advice: '' };
}

export function warn(name: string, detail: string, advice: string): Check {
  return { name, status: 'warn', detail, advice };
}

export function fail(name: string, detail: string, advice: string): Check {
  return { name, status: 'fail', detail, advice };
}

/** A look that fails in a way that nobody expected is a finding too. */
export async function looked(name: string, look: () => Check[] | Promise<Check[]>): Promise<Check[]> {
  try {
    return await look();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [fail(name, `cannot be looked at: ${why}`, 'Mend that first, then look again.')];
  }
}
