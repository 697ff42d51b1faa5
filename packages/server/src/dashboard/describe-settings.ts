import { type Configuration, settingNames, settingOf } from '@quotadb/config';
import type { SettingFacts } from '@quotadb/dashboard';

/** All settings with what the table of settings says about them, but for secrets. */
export function describeSettings(config: Configuration): SettingFacts[] {
  return settingNames
    .map((name) => ({ name, setting: settingOf(name) }))
    .filter(({ setting }) => setting.secret !== true)
    .map(({ name, setting: { flag, kind, help, changeable, default: standard } }) => ({
      name: `--${flag}`,
      value: kind.show(config[name] as never),
      standard: kind.show(standard),
      help,
      range: kind.range,
      isChangeable: changeable === true,
    }));
}
