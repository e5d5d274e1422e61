import type { AnalyzerName } from '../contract/settings.ts';
import type { NewAction, SecurityRisk } from '../events/event.ts';

/** How risky an action is, and why: a sentence for the user. */
export interface Rating {
  risk: SecurityRisk;
  reason: string;
}

/** Where the agent stands: what paths are held against. */
export interface Place {
  /** The workspace as commands see it: `/workspace`. */
  root: string;
  /** The directory that the next command begins in; null when it is not known. */
  cwd: string | null;
}

/** Rates actions before they are carried out. Executes nothing, and never throws. */
export interface SecurityAnalyzer {
  rate(action: NewAction, place: Place): Rating;
}

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
