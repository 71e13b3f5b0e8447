//! TLS by rustls: certificate and key from PEM files, read again on demand.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    #[error("cannot read a {what} from {}: {source}", path.display())]
    Pem { what: &'static str, path: PathBuf, source: rustls::pki_types::pem::Error },
    #[error("there is no certificate in {}", .0.display())]
    Empty(PathBuf),
    #[error("{} and {} do not work together: {source}", cert.display(), key.display())]
    Unfit { cert: PathBuf, key: PathBuf, source: rustls::Error },
}

/// The protocol inside of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsProtocol {
    /// HTTP/2 and HTTP/1.1, by the client's choice.
    Http,
    /// JSON lines.
    Lines,
}

/// A certificate with its key; a clone is the same one.
#[derive(Debug, Clone)]
pub struct Tls {
    cert: PathBuf,
    key: PathBuf,
    protocol: TlsProtocol,
    config: Arc<RwLock<Arc<ServerConfig>>>,
}

impl Tls {
    pub fn load(cert: &Path, key: &Path, inside: TlsProtocol) -> Result<Self, TlsError> {
        let config = Arc::new(RwLock::new(Arc::new(read(cert, key, inside)?)));
        Ok(Self { cert: cert.to_owned(), key: key.to_owned(), protocol: inside, config })
    }

    /// Takes renewed files for the connections to come; keeps what it has if they are bad.
    pub fn reload(&self) -> Result<(), TlsError> {
        let config = Arc::new(read(&self.cert, &self.key, self.protocol)?);
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone().into()
    }
}

fn read(cert: &Path, key: &Path, inside: TlsProtocol) -> Result<ServerConfig, TlsError> {
    let bad = |what, path: &Path| {
        let path = path.to_owned();
        move |source| TlsError::Pem { what, path, source }
    };
    let chain: Vec<_> = CertificateDer::pem_file_iter(cert)
        .map_err(bad("certificate", cert))?
        .collect::<Result<_, _>>()
        .map_err(bad("certificate", cert))?;
    if chain.is_empty() {
        return Err(TlsError::Empty(cert.to_owned()));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(bad("private key", key))?;
    let unfit = |source| TlsError::Unfit { cert: cert.to_owned(), key: key.to_owned(), source };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unfit)?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(unfit)?;
    if inside == TlsProtocol::Http {
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    }
    Ok(config)
}
