export { type CertificateContent, describeCertificate, readCertificate } from './describe.js';
export { AUTHORITY, CertificatesError, filesOf, initDirectory, issueInto } from './directory.js';
