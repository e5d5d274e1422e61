/**
 * Does something again and again, `ms` after it was last done, until the signal. A failure is told and does not end
 * it. Does not keep the process alive.
 */
export function every(
  ms: number,
  work: () => Promise<void>,
  { signal, failed }: { signal: AbortSignal; failed: (error: unknown) => void },
): void {
  let timer: NodeJS.Timeout | undefined;
  const once = async (): Promise<void> => {
    await work().catch(failed);
    next();
  };
  const next = (): void => {
    if (!signal.aborted) timer = setTimeout(() => void once(), ms).unref();
  };
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  next();
}
