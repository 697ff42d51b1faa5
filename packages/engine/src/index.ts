export { ByteInput } from './byte-input.js';
