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
