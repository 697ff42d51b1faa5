/** Documents that people write, YAML or JSON: read, checked against a schema, with the line of every mistake. */
export { DocumentError, type Mistake, type Path, printMistakes, quote } from './mistakes.js';
export { checkDocument, type LineOf, readDocument } from './read-document.js';
