export {
  type CertificateAndKey,
  clusterOf,
  type IssueOptions,
  issueCertificate,
  makeAuthority,
  type Validity,
  validityOf,
} from './certificates.js';
export { describeCertificate } from './describe.js';
export {
  AUTHORITY,
  type CertificateFiles,
  CertificatesError,
  filesOf,
  type IssueRequest,
  initDirectory,
  issueInto,
} from './directory.js';
