export { loadTlsMaterial, watchTlsMaterial } from './tls-material.js';
