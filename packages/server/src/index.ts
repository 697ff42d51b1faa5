export { documents } from './docs/documents.js';
