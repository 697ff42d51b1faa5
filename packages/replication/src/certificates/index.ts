export { describeCertificate, readCertificate } from './describe.js';
export { AUTHORITY, CertificatesError, filesOf, initDirectory, issueInto } from './directory.js';
