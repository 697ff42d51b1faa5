import { register } from 'node:module';

/** For `node --import`: from here on koffi cannot be found, as on a machine that there is no binary of it for. */
const hooks = `
  export async function resolve(specifier, context, next) {
    if (specifier === 'koffi') throw new Error('hidden by a test');
    return next(specifier, context);
  }
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
