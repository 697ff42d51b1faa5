/**
 * The variables that the programs of the embedded PostgreSQL get. The list has those that they need, because those that
 * they must not see have no end: passwords and tokens of this server and of the program that started it, and variables
 * such as PGDATA that would change how PostgreSQL runs.
 */
const PASSED_ON = ['PATH', 'TZ', 'TMPDIR', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH'];

export function childEnvironment(): NodeJS.ProcessEnv {
  const passed = PASSED_ON.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(passed), LC_ALL: 'C' };
}
