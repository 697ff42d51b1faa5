import { environmentVariable, fixedParameters, type SettingName, settingOf } from '@quotadb/config';

/** docs/configuration.md, from the table of settings. */
export function configurationDocument(names: readonly SettingName[]): string {
  return [
    '# Configuration',
    '',
    'Made from the table in `packages/config/src/settings`; `npm run generate` makes it anew.',
    '',
    'A setting is a flag (`--max-memory 2gb`), an environment variable (`QUOTADB_MAX_MEMORY=2gb`) or a key of the file',
    'that `--config` names. A flag wins over the environment, the environment over the file.',
    '',
    'The file is YAML, or JSON, which may have `//` and `/* */` comments and commas at the end:',
    '',
    '```yaml',
    '# quotadb.yaml',
    'region: eu',
    'data: /var/lib/quotadb',
    'max-memory: 2gb',
    'timeout: 5m',
    'peer:',
    '  - us=10.0.0.2:7380',
    '```',
    '',
    'Durations are written with units (`250ms`, `60s`, `5m`, `1h30m`, `1d`, `2w`); a bare number has the unit that the',
    'table names. Sizes take `kb`, `mb` and `gb` (powers of 1024) and `k`, `m` and `g` (powers of 1000). CONFIG SET',
    'takes the same values. All mistakes are reported at once, with exit code 2, each with its place, the value and',
    'the values that are allowed; those of secrets are left out:',
    '',
    '```',
    'quotadb: quotadb.yaml:5: "timeout": "soon" must be a duration, 0s to 2147483647s, such as 250ms, 60s, 5m, …',
    'quotadb: quotadb.yaml:6: "pere": no such setting; did you mean "peer"?',
    '```',
    '',
    '| flag | value | default | what it does |',
    '|---|---|---|---|',
    ...names.map(settingRow),
    `| \`--config\` | a path |  | a YAML or JSON file of settings; also \`${environmentVariable('config')}\` |`,
    '',
    '## CONFIG GET and CONFIG SET',
    '',
    'Settings that Redis has too are read, and some changed, under the name Redis gives them.',
    '',
    '| parameter | flag | CONFIG SET |',
    '|---|---|---|',
    ...names.flatMap(parameterRow),
    '',
    'These have one value here, which CONFIG SET accepts and does not change:',
    '',
    '| parameter | value |',
    '|---|---|',
    ...Object.entries(fixedParameters).map(
      ([name, value]) => `| \`${name}\` | ${value === '' ? '(empty)' : `\`${value}\``} |`,
    ),
    '',
  ].join('\n');
}

function settingRow(name: SettingName): string {
  const { flag, kind, default: standard, help } = settingOf(name);
  const shown = kind.show(standard);
  return `| \`--${flag}\` | ${kind.range} | ${shown === '' ? '' : `\`${shown}\``} | ${help} |`;
}

function parameterRow(name: SettingName): string[] {
  const { flag, parameter, changeable } = settingOf(name);
  if (parameter === undefined) return [];
  return [`| \`${parameter}\` | \`--${flag}\` | ${changeable === true ? 'yes' : 'no'} |`];
}
