import { type Kind, Mistake } from '@quotadb/config';

/** The value of a flag that is no setting; a mistake in it names the flag. */
export function parseIn<Value>(flag: string, kind: Kind<Value>, text: string): Value {
  try {
    return kind.parse(text);
  } catch (error) {
    throw error instanceof Mistake ? new Mistake(`${flag}: ${error.message}`) : error;
  }
}
