/** Settings of experiments, by the id of a conversation that may come later; JSON. */
export interface ExperimentStore {
  get(userId: string, id: string): Promise<string | undefined>;
  save(userId: string, id: string, config: string): Promise<void>;
}
