/**
 * Node's HTTP, not by `import`: that reads all it exports, and with its `WebSocket` loads the second HTTP client that is
 * in Node, 14 MB that nothing here uses.
 */
export const { createServer, maxHeaderSize, request, ServerResponse, STATUS_CODES } =
  process.getBuiltinModule('node:http');
