/** The major version from which on Node has all that Parley uses; `engines` of package.json says the same. */
const OLDEST_NODE = 24;

/** Why Parley cannot run on this Node, and what to do; null when it can. */
export function tooOldNode(version = process.versions.node): string | null {
  const [major = 0] = version.split('.').map(Number);
  if (major >= OLDEST_NODE) return null;
  return `Parley needs Node ${OLDEST_NODE} or newer, this is ${version}: install one (https://nodejs.org), or serve from a checkout, where ./script/server brings its own.`;
}
