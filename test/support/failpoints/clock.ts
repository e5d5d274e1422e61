/** Preloaded into the real service (`node --import`): its clock is off by `CLOCK_OFF_MS` milliseconds. */
const off = Number(process.env['CLOCK_OFF_MS'] ?? 0);

globalThis.Date = new Proxy(Date, {
  construct: (target, values: [], newTarget) =>
    Reflect.construct(target, values.length === 0 ? [target.now() + off] : values, newTarget),
  get: (target, name, receiver) =>
    name === 'now' ? () => target.now() + off : Reflect.get(target, name, receiver),
});
