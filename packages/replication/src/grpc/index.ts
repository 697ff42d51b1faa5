export { findSealFault, type SealedBy, sealText } from './seal.js';
export { loadTlsMaterial, type TlsMaterial, watchTlsMaterial } from './tls-material.js';
