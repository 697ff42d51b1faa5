/** Texts for people, for pages in a browser too: nothing of Node. */
export { briefDuration, formatDuration, parseDuration } from './duration.js';
export { humanBytes } from './human-bytes.js';
