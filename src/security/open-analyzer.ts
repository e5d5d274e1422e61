import type { AnalyzerName } from '../contract/settings.ts';
import type { NewAction } from '../events/event.ts';
import type { Rating, SecurityAnalyzer } from './analyzer.ts';

/** The analyzer of that name. What `rules` needs is loaded with the first one. */
export async function openAnalyzer(name: AnalyzerName): Promise<SecurityAnalyzer> {
  if (name === 'llm') return { rate: ratedByModel };
  const { RulesAnalyzer } = await import('./rules/rules-analyzer.ts');
  return new RulesAnalyzer();
}

/** The model rated its own call, if it did. */
function ratedByModel({ args }: NewAction): Rating {
  const risk = 'security_risk' in args ? args.security_risk : -1;
  return { risk, reason: risk === 2 ? 'The model rates this as HIGH.' : '' };
}
