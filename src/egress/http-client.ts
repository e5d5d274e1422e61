/**
 * The HTTP client, to be imported when it is first needed. It is CommonJS: named here, its parts have the same names
 * in a bundle, where a CommonJS module that is imported late has no names at all.
 */
export { Agent, fetch } from 'undici';
