import { Failure } from './run-command.js';

/** Loads a package that only one command needs; where it is missing, the error names the package to install. */
export async function loadOptionalPackage<Module>(
  command: string,
  name: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' || !message.includes(`'${name}'`)) throw error;
    throw new Failure(`"quotadb ${command}" needs a package that is not installed: npm install ${name}`);
  }
}
