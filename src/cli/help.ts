export const HELP = `parley: a self-hosted service for agent conversations

  parley serve [--host ADDRESS] [--port PORT]
        Serves. SIGTERM or SIGINT ends it in order, a second one at once.

  parley keys create --user NAME [--name LABEL] [--expires 30d]
        Makes a key of a user, and the user when there is none. The key stands alone on the last line.
  parley keys list [--user NAME]
  parley keys revoke ID
        The key counts no more, at once.

  parley users list
  parley users disable NAME
  parley users enable NAME
        All keys of a user count no more, or again.
  parley users erase NAME --yes
        Removes a user with all that is stored, for good.

  parley audit [--user NAME] [--since 7d] [--json]
        Who did what, when: keys, log-ins, secrets, tokens, pushes, deletions. Never a value.

  parley feedback [--since 7d] [--json]
        What users think of their conversations.

  parley doctor [--json] [--online]
        Looks at everything a server needs and says what to mend. Changes nothing.

  parley backup FILE [--without-key]
        Writes all of the data directory into one file (.tar, .tar.gz, .tar.zst), while the server runs or not.
  parley restore FILE
        Puts a backup into an empty data directory.

  parley secrets rotate [--key-file NEW]
        Seals all stored secrets anew with another key, while no server runs.

  parley import-openhands DIR [--user NAME]
        Takes over settings, secrets and conversations of OpenHands V0 (~/.openhands).

  parley help

Keys and users may be changed while the server runs. Both find the data by PARLEY_DATA_DIR;
docs/configuration.md lists this and all other variables.`;
