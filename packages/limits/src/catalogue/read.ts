import { MAXIMUM_CATALOGUE_BYTES } from '@quotadb/quota';
import { checkDocument, DocumentError, type LineOf, type Mistake, readDocument } from '@quotadb/wire/documents';
import { likenessOf } from './likeness.js';
import { CatalogueError, readingCatalogue } from './mistakes.js';
import { findRuleMistakes } from './rules.js';
import { type Catalogue, catalogueSchema, EMPTY_CATALOGUE, type LimitEntry, limitSchema } from './schema.js';

/** Reads YAML, or JSON, which is YAML too. Throws a CatalogueError with all mistakes and their lines. */
export function readCatalogue(text: string): Catalogue {
  const { value, lineOf } = read(text);
  // A file without any content is a catalogue without limits.
  return checkCatalogue(value ?? EMPTY_CATALOGUE, lineOf);
}

/** The same for one limit. What it says about others is checked where the others are known. */
export function readLimit(text: string): LimitEntry {
  const { value, lineOf } = read(text);
  return readingCatalogue(() => checkDocument(limitSchema, value, lineOf));
}

function read(text: string): ReturnType<typeof readDocument> {
  return readingCatalogue(() => readDocument(text, 'a catalogue', MAXIMUM_CATALOGUE_BYTES));
}

/** Checks a catalogue from a client, a peer or a file. Throws a CatalogueError with all mistakes. */
export function checkCatalogue(given: unknown, lineOf: LineOf = () => undefined): Catalogue {
  const { form, mistakes: ofForm } = readForm(given, lineOf);
  const ofRules = findRuleMistakes(form ?? likenessOf(given));
  if (form !== undefined && ofRules.length === 0) return form;
  throw new CatalogueError([...ofForm, ...ofRules.map((mistake) => ({ ...mistake, line: lineOf(mistake.path) }))]);
}

function readForm(
  given: unknown,
  lineOf: LineOf,
): { readonly form?: Catalogue; readonly mistakes: readonly Mistake[] } {
  try {
    return { form: checkDocument(catalogueSchema, given, lineOf), mistakes: [] };
  } catch (error) {
    if (error instanceof DocumentError) return { mistakes: error.mistakes };
    throw error;
  }
}
