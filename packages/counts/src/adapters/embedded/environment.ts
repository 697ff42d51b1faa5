/**
 * What the programs of the embedded PostgreSQL get to know of our environment. It is a list of what they need, because
 * nobody can list what they must not see: the passwords and tokens of this server, those of whatever started it, and
 * variables such as PGOPTIONS that would change how PostgreSQL runs.
 */
const PASSED_ON = ['PATH', 'TZ', 'TMPDIR', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH'];

export function childEnvironment(): NodeJS.ProcessEnv {
  const passed = PASSED_ON.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(passed), LC_ALL: 'C' };
}
