export { PROTOCOL_VERSION } from './settings.js';
